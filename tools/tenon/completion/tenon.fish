# Completion of tenon for fish. The tool itself lists its verbs and options, so that they are those of its version.

function __tenon_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    if test (count $words) -eq 1
        $words[1] --list-verbs 2>/dev/null
        return
    end
    set -l lines ($words[1] $words[2] --list-options 2>/dev/null)
    # `--option=WORD` and `--option WORD`.
    set -l option (string split -m 1 = -- $word)[1]
    set -l prefix "$option="
    if not string match -q -- '--*=*' $word
        set option $words[-1]
        set prefix ""
    end
    for line in $lines
        set -l fields (string split \t -- $line)
        if test "$fields[1]" = "$option" -a -n "$fields[2]$prefix"
            if test -n "$fields[3]"
                for value in (string split ' ' -- $fields[3])
                    echo $prefix$value
                end
            else
                __fish_complete_path (string replace -- "$prefix" "" $word) | string replace -r '^' -- $prefix
            end
            return
        end
    end
    if string match -q -- '-*' $word
        for line in $lines
            set -l fields (string split \t -- $line)
            printf '%s%s\t%s\n' $fields[1] $fields[2] $fields[4]
        end
    else
        __fish_complete_path $word
    end
end

complete -c tenon -f -a '(__tenon_complete)'
