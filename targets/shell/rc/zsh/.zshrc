# What a shell of Slipway adds to yours, which comes first.
if [[ -n ${SLIPWAY_ZDOTDIR+set} ]]; then export ZDOTDIR=$SLIPWAY_ZDOTDIR; else unset ZDOTDIR; fi
unset SLIPWAY_ZDOTDIR
if [[ ${HISTFILE:-} == $SLIPWAY_SHELL_DIR/* ]]; then HISTFILE=${ZDOTDIR:-$HOME}/.zsh_history; fi
if [[ -r ${ZDOTDIR:-$HOME}/.zshrc ]]; then source ${ZDOTDIR:-$HOME}/.zshrc; fi
path=($SLIPWAY_SHELL_DIR/bin ${path:#"$SLIPWAY_SHELL_DIR/bin"})
__slipway_prompt() {
  [[ $PROMPT == "($SLIPWAY_SHELL) "* ]] || PROMPT="($SLIPWAY_SHELL) $PROMPT"
}
autoload -Uz add-zsh-hook
add-zsh-hook precmd __slipway_prompt
