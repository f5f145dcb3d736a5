# What a shell of Slipway adds to yours, which came before.
set -gx PATH $SLIPWAY_SHELL_DIR/bin $PATH
function __slipway_status
    return $argv[1]
end
functions -c fish_prompt __slipway_prompt
function fish_prompt
    set -l last $status
    echo -n "($SLIPWAY_SHELL) "
    __slipway_status $last
    __slipway_prompt
end
