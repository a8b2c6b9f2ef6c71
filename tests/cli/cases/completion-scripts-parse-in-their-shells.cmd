"$COATI" completion bash | bash -n
"$COATI" completion zsh >z && { ! command -v zsh >/dev/null || zsh -n z; }
"$COATI" completion fish >f && { ! command -v fish >/dev/null || fish -n f; }
