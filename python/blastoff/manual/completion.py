"""Completions for bash, zsh and fish."""

from collections.abc import Sequence

from blastoff.manual.syntax import Argument, Command

BASH = r"""# Completion of the blastoff command for bash.
_blastoff() {
  local cur=${COMP_WORDS[COMP_CWORD]} option= equals= words= i
  COMPREPLY=()
  # Where "=" ends words, --option=value is three of them.
  if [[ $cur == = ]]; then
    equals=1 cur= option=${COMP_WORDS[COMP_CWORD-1]}
  elif [[ ${COMP_WORDS[COMP_CWORD-1]} == = && $COMP_CWORD -gt 2 ]]; then
    equals=1 option=${COMP_WORDS[COMP_CWORD-2]}
  else
    option=${COMP_WORDS[COMP_CWORD-1]}
  fi
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W '@COMMANDS@' -- "$cur"))
    return
  fi
  local options= valued= optional= operands=
  case ${COMP_WORDS[1]} in
@SYNTAX@
    help) operands='@COMMANDS@' ;;
    *) return ;;
  esac
  # Behind the program the line is the program's.
  if [[ $operands == PROGRAM ]]; then
    for ((i = 2; i < COMP_CWORD; i++)); do
      case ${COMP_WORDS[i]} in
        --) ((++i)); break ;;
        -*)
          if [[ ${COMP_WORDS[i+1]} == = ]]; then ((i += 2)); elif [[ " $valued " == *" ${COMP_WORDS[i]} "* ]]; then ((++i)); fi ;;
        *) break ;;
      esac
    done
    if ((i < COMP_CWORD)); then
      if declare -F _command_offset >/dev/null; then _command_offset "$i"; else compopt -o default; fi
      return
    fi
  fi
  if [[ " $valued " == *" $option "* || ( -n $equals && " $optional " == *" $option "* ) ]]; then
    case "${COMP_WORDS[1]} $option" in
@VALUES@
      *) return ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:=] ]] && compopt -o nospace
    return
  fi
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ $operands == PROGRAM ]]; then
    compopt -o filenames
    COMPREPLY=($(compgen -c -- "$cur") $(compgen -f -- "$cur"))
  elif [[ $operands == FILE ]]; then
    compopt -o default
  elif [[ $operands ]]; then
    COMPREPLY=($(compgen -W "${operands//|/ }" -- "$cur"))
  fi
}
complete -F _blastoff blastoff
"""

ZSH = r"""#compdef blastoff
# Completion of the blastoff command for zsh.
_blastoff() {
  local curcontext=$curcontext state line
  local -a commands
  commands=(
@COMMANDS@
  )
  _arguments -C '1: :->command' '*:: :->rest'
  case $state in
    command) _describe command commands ;;
    rest)
      case $words[1] in
@SYNTAX@
      esac ;;
  esac
}
_blastoff "$@"
"""


def names_of(arguments: Sequence[Argument]) -> str:
    return " ".join(name for argument in arguments for name in argument.names)


def bash(commands: Sequence[Command]) -> str:
    syntax, values = [], []
    for command in commands:
        valued = [argument for argument in command.arguments if argument.value and not argument.optional]
        optional = [argument for argument in command.arguments if argument.optional]
        syntax.append(
            f"    {command.name}) options='{names_of(command.arguments)}' valued='{names_of(valued)}' "
            f"optional='{names_of(optional)}' operands='{command.operands}' ;;"
        )
        for argument in [*valued, *optional]:
            for name in argument.names:
                if argument.choices:
                    values.append(f"      '{command.name} {name}') words='{' '.join(argument.choices)}' ;;")
                elif argument.is_file:
                    values.append(f"      '{command.name} {name}') compopt -o default; return ;;")
    text = BASH.replace("@COMMANDS@", " ".join([*(command.name for command in commands), "help", "--help", "--version"]))
    return text.replace("@SYNTAX@", "\n".join(syntax)).replace("@VALUES@", "\n".join(values))


def in_quotes(text: str) -> str:
    """The text for use between single quotes: a quote in the text ends the quoted part, stands escaped, and begins it again."""
    return text.replace("'", "'\\''")


def zsh_argument(argument: Argument) -> str:
    """A specification for zsh's _arguments."""
    about = in_quotes(argument.summary).replace("[", "(").replace("]", ")").replace(":", "\\:")
    specifications = []
    for name in argument.names:
        if not argument.value:
            specifications.append(f"'{name}[{about}]'")
            continue
        words = " ".join(choice.replace(":", "\\:") for choice in argument.choices)
        action = f"({words})" if words else "_files" if argument.is_file else " "
        equals, colon = ("=-", "::") if argument.optional else ("=", ":")
        specifications.append(f"'{name}{equals}[{about}]{colon}{argument.names[0].lstrip('-')}:{action}'")
    return " ".join(specifications)


def zsh(commands: Sequence[Command]) -> str:
    described = [f"    '{command.name}:{in_quotes(command.summary)}'" for command in commands]
    syntax = []
    for command in commands:
        words = command.operands.replace("|", " ")
        operand = {"PROGRAM": "'*:: :_normal'", "FILE": "'*:file:_files'", "": ""}.get(command.operands, f"'1: :({words})'")
        lines = [f"          {zsh_argument(argument)} \\" for argument in command.arguments]
        syntax.append("\n".join([f"        {command.name}) _arguments \\", *lines, f"          {operand} ;;"]))
    return ZSH.replace("@COMMANDS@", "\n".join(described)).replace("@SYNTAX@", "\n".join(syntax))


def fish_argument(command: Command, argument: Argument) -> list[str]:
    lines = []
    for name in argument.names:
        spelled = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
        parts = ["complete -c blastoff", f"-n '__fish_seen_subcommand_from {command.name}'", spelled]
        if argument.choices:
            parts.append(f"{'' if argument.optional else '-x '}-a '{' '.join(argument.choices)}'")
        elif argument.value and not argument.optional:
            parts.append("-r -F" if argument.is_file else "-x")
        lines.append(" ".join([*parts, f"-d '{in_quotes(argument.summary)}'"]))
    return lines


def fish(commands: Sequence[Command]) -> str:
    lines = ["# Completion of the blastoff command for fish."]
    for command in commands:
        lines.append(f"complete -c blastoff -f -n __fish_use_subcommand -a {command.name} -d '{in_quotes(command.summary)}'")
    for command in commands:
        seen = f"complete -c blastoff -n '__fish_seen_subcommand_from {command.name}'"
        if command.operands == "PROGRAM":
            lines.append(f"{seen} -a '(__fish_complete_subcommand --commandline)'")
        elif command.operands not in ("FILE", ""):
            lines.append(f"{seen} -f -a '{command.operands.replace('|', ' ')}'")
        for argument in command.arguments:
            lines += fish_argument(command, argument)
    return "\n".join(lines) + "\n"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
