esc=$(printf '\033')
has() { if "$@" 2>&1 | grep -q "$esc"; then echo color; else echo plain; fi; }
has "$COATI" doctor
has "$COATI" doctor --color=always
CLICOLOR_FORCE=1 has "$COATI" doctor
CLICOLOR_FORCE=0 has "$COATI" doctor
NO_COLOR=1 CLICOLOR_FORCE=1 has "$COATI" doctor
NO_COLOR=1 has "$COATI" doctor --color=always
CLICOLOR_FORCE=1 has "$COATI" doctor --color=never
