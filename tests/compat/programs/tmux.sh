. "$(dirname "$0")/common.sh"
under tmux -S "$WORK/s" -f /dev/null new-session -d -x 80 -y 24 'bash --norc --noprofile'
echo "new $?"
under tmux -S "$WORK/s" send-keys 'PS1="> "; clear; seq 5; echo done' Enter
for _ in $(seq 50); do tmux -S "$WORK/s" capture-pane -p | grep -qx done && break; sleep 0.1; done
under tmux -S "$WORK/s" capture-pane -p | grep -vE '^$|>'
under tmux -S "$WORK/s" split-window; under tmux -S "$WORK/s" list-panes | wc -l
under tmux -S "$WORK/s" kill-server; echo "kill $?"
