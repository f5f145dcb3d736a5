# zsh is made to read this folder; your own files come from where they are.
if [[ -n ${SLIPWAY_ZDOTDIR+set} ]]; then ZDOTDIR=$SLIPWAY_ZDOTDIR; else unset ZDOTDIR; fi
if [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]]; then source ${ZDOTDIR:-$HOME}/.zshenv; fi
if [[ -n ${ZDOTDIR+set} ]]; then SLIPWAY_ZDOTDIR=$ZDOTDIR; else unset SLIPWAY_ZDOTDIR; fi
ZDOTDIR=$SLIPWAY_SHELL_DIR/zsh
