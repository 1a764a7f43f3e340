import { messageOf } from '@csi-sidecars/base'
import { goQuote } from '@csi-sidecars/telemetry'
import { FLAG_TYPES, pflagText } from './flag-types.ts'
import {
  type Flag,
  FlagReader,
  type Flags,
  type FlagTable,
  type ParsedFlags,
  type RefusedFlags,
  refused,
} from './go-flags.ts'
import { STANDARD_FLAGS } from './standard-flags.ts'

/** The flags that the Go sidecars define with the package `flag`. Its error messages are shorter than pflag's. */
const GO_FLAGS: ReadonlySet<string> = new Set(
  STANDARD_FLAGS.map(({ name }) => name).filter((name) => !/^(?:log|retry)-/.test(name)),
)

/**
 * Reads arguments as `github.com/spf13/pflag` does: `--flag=v`, `--flag v`, booleans only with `=`, `-v5 -v 5 -v=5`.
 * Only a flag of one letter has a short form. Words between flags are ignored, and `--` ends the flags.
 */
export function parsePFlags<const T extends FlagTable>(table: T, args: readonly string[]): ParsedFlags<T> {
  const reader = new Reader(table)
  const rest = [...args]
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (argument.length < 2 || !argument.startsWith('-')) continue
    if (argument === '--') break
    const end = argument.startsWith('--') ? reader.long(argument, rest) : reader.short(argument.slice(1), rest)
    if (end !== undefined) return end
  }
  // The cast is safe: the reader stores a value of the flag's type under the name of each flag in the table.
  return { kind: 'flags', flags: { values: reader.values as Flags<T>['values'], explicitFlags: reader.explicitFlags } }
}

/** The reason to stop reading. Undefined after a valid flag. */
type End = { readonly kind: 'help' } | RefusedFlags | undefined

class Reader extends FlagReader {
  long(argument: string, rest: string[]): End {
    const body = argument.slice(2)
    if (/^[-=]/.test(body)) return refused(`bad flag syntax: ${argument}`)
    const equals = body.indexOf('=')
    const name = equals < 0 ? body : body.slice(0, equals)
    const flag = this.flags.get(name)
    if (flag === undefined)
      return name === 'help' ? { kind: 'help' } : this.refuseUnknown(name, `unknown flag: --${name}`)
    const text = equals < 0 ? valueAfter(flag, rest) : body.slice(equals + 1)
    return text === undefined ? refused(`flag needs an argument: --${name}`) : this.#set(flag, name, text)
  }

  /** Reads a cluster of flags of one letter, such as `-ab`. Only the last flag may have a value. */
  short(letters: string, rest: string[]): End {
    const [letter = '', ...others] = letters
    const flag = this.flags.get(letter)
    if (flag === undefined) {
      return letter === 'h' ? { kind: 'help' } : refused(`unknown shorthand flag: '${letter}' in -${letters}`)
    }
    const following = others.join('')
    if (following.length > 1 && following.startsWith('=')) return this.#set(flag, letter, following.slice(1))
    if (FLAG_TYPES[flag.type].isBoolean === true) {
      const end = this.#set(flag, letter, 'true')
      return end ?? (following === '' ? undefined : this.short(following, rest))
    }
    const text = following === '' ? rest.shift() : following
    return text === undefined
      ? refused(`flag needs an argument: '${letter}' in -${letters}`)
      : this.#set(flag, letter, text)
  }

  #set(flag: Flag, name: string, text: string): End {
    try {
      this.setFlag(flag, text)
    } catch (error) {
      const names = name.length === 1 ? `-${name}, --${name}` : `--${name}`
      const why = GO_FLAGS.has(flag.name) ? messageOf(error) : pflagText(flag.type, text, error)
      return refused(`invalid argument ${goQuote(text)} for ${goQuote(names)} flag: ${why}`)
    }
    this.explicitFlags.add(name)
    return undefined
  }
}

function valueAfter(flag: Flag, rest: string[]): string | undefined {
  return FLAG_TYPES[flag.type].isBoolean === true ? 'true' : rest.shift()
}
