# fish completion. Commands and options come from their own --help, so this file need not know them.
function __memory_profiler_commands
    memory-profiler-cli --help 2>/dev/null |
        sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\)  *\(.*\)/\1\t\2/p'
end

function __memory_profiler_options
    set -l words (commandline -opc)
    if test (count $words) -ge 2
        memory-profiler-cli $words[2] --help 2>/dev/null |
            string match -rag '(?:^|[ ,])(--?[a-z][a-z0-9-]*)'
    end
end

complete -c memory-profiler-cli -n __fish_use_subcommand -f -a '(__memory_profiler_commands)'
complete -c memory-profiler-cli -n 'string match -q -- "-*" (commandline -ct)' \
    -a '(__memory_profiler_options)'
