// Outside the editor there is no `vscode`: the modules under test here only name its types.
export {};
