import { messageOf } from '@csi-sidecars/base'
import { Quantity } from '@csi-sidecars/kube-types'
import { goFloat, goQuote, type VmoduleRule } from '@csi-sidecars/telemetry'
import {
  goDuration,
  parseGoBool,
  parseGoDuration,
  parseGoFloat,
  parseGoInt,
  parseGoLevel,
  parseGoUint,
  ValueError,
} from './go-values.ts'

/** The type of the value for each type of flag. */
export interface FlagValues {
  bool: boolean
  /** A switch with the error texts of Go's `flag.BoolFunc`. */
  switch: boolean
  string: string
  /** One of the texts in `choices`. */
  choice: string
  int: number
  uint: number
  float: number
  /** A duration in milliseconds. */
  duration: number
  /** A whole number from 0 to 2^31-1. */
  level: number
  vmodule: readonly VmoduleRule[]
  quantity: Quantity
  gates: ReadonlyMap<string, boolean>
  labels: ReadonlyMap<string, string>
}

export type FlagTypeName = keyof FlagValues

/** A type of flag: how its values are read, and how the usage shows the default. */
export interface FlagType<T> {
  /** The text after the flag's name in the usage. */
  readonly placeholder: string
  /** True if the value may be omitted and is then true. Default: false. */
  readonly isBoolean?: boolean
  /**
   * Parses the text of an argument. Throws an Error with Go's error message if the text is invalid. `before` is the
   * value that earlier arguments have set, and `choices` are the allowed values.
   */
  parse(text: string, before: T | undefined, choices: readonly string[]): T
  /** Returns the default's text in the usage. Undefined if Go shows none. */
  defaultText(value: T): string | undefined
}

const textUnless = <T>(zero: T, text: (value: T) => string) => {
  return (value: T): string | undefined => (value === zero ? undefined : text(value))
}

export const FLAG_TYPES: { readonly [N in FlagTypeName]: FlagType<FlagValues[N]> } = {
  bool: { placeholder: '', isBoolean: true, parse: parseGoBool, defaultText: textUnless(false, String) },
  switch: { placeholder: '', isBoolean: true, parse: readSwitch, defaultText: () => undefined },
  string: { placeholder: 'string', parse: (text) => text, defaultText: textUnless('', goQuote) },
  choice: { placeholder: 'string', parse: readChoice, defaultText: textUnless('', goQuote) },
  int: { placeholder: 'int', parse: parseGoInt, defaultText: textUnless(0, String) },
  uint: { placeholder: 'uint', parse: parseGoUint, defaultText: textUnless(0, String) },
  float: { placeholder: 'float', parse: parseGoFloat, defaultText: textUnless(0, goFloat) },
  duration: { placeholder: 'duration', parse: parseGoDuration, defaultText: textUnless(0, goDuration) },
  level: {
    placeholder: 'value',
    parse: (text) => readStrconv('ParseUint', text, parseGoLevel),
    defaultText: () => undefined,
  },
  vmodule: { placeholder: 'value', parse: readVmodule, defaultText: () => undefined },
  quantity: { placeholder: 'value', parse: (text) => Quantity.parse(text), defaultText: () => undefined },
  gates: { placeholder: 'value', parse: readGates, defaultText: () => undefined },
  labels: { placeholder: 'value', parse: readLabels, defaultText: () => undefined },
}

/** Parses a value with `read`. An invalid value throws an error with the message of Go's strconv package. */
function readStrconv<T>(name: string, text: string, read: (text: string) => T): T {
  try {
    return read(text)
  } catch (cause) {
    if (!(cause instanceof ValueError)) throw cause
    throw new Error(strconvText(name, text, cause), { cause })
  }
}

function strconvText(name: string, text: string, { problem }: ValueError): string {
  const why = problem === 'range' ? 'value out of range' : 'invalid syntax'
  return `strconv.${name}: parsing ${goQuote(text)}: ${why}`
}

const PARSERS: Readonly<Partial<Record<FlagTypeName, string>>> = {
  bool: 'ParseBool',
  int: 'ParseInt',
  uint: 'ParseUint',
  float: 'ParseFloat',
}

/** Returns the error text of pflag for an invalid value of a flag. */
export function pflagText(type: FlagTypeName, text: string, error: unknown): string {
  if (!(error instanceof ValueError)) return messageOf(error)
  if (type === 'duration') return `time: ${error.durationProblem} ${goQuote(text)}`
  const parser = PARSERS[type]
  return parser === undefined ? error.message : strconvText(parser, text, error)
}

function readSwitch(text: string): boolean {
  return readStrconv('ParseBool', text, parseGoBool)
}

function readChoice(text: string, _before: string | undefined, choices: readonly string[]): string {
  if (!choices.includes(text)) throw new Error(`must be ${choices.join(' or ')}`)
  return text
}

/** Parses `pattern=N,...`, and appends the rules to the rules of earlier flags. Skips empty items. */
function readVmodule(text: string, before: readonly VmoduleRule[] = []): readonly VmoduleRule[] {
  const rules = [...before]
  for (const item of text.split(',')) {
    if (item === '') continue
    const [pattern, number, ...more] = item.split('=')
    if (!pattern || !number || more.length > 0) {
      throw new Error(`${goQuote(item)} does not have the pattern=N format`)
    }
    try {
      rules.push({ pattern, level: readStrconv('ParseUint', number, parseGoLevel) })
    } catch (cause) {
      throw new Error(`parsing verbosity in ${goQuote(item)}: ${messageOf(cause)}`, { cause })
    }
  }
  return rules
}

/** Parses `Gate=bool,...`, and merges the gates with the gates of earlier flags. Skips empty items. */
function readGates(text: string, before?: ReadonlyMap<string, boolean>): ReadonlyMap<string, boolean> {
  const gates = new Map(before)
  for (const item of text.split(',')) {
    if (item === '') continue
    const at = item.indexOf('=')
    if (at < 0) throw new Error('malformed pair, expect string=bool')
    const name = item.slice(0, at).trim()
    const value = item.slice(at + 1).trim()
    try {
      gates.set(name, readSwitch(value))
    } catch (cause) {
      throw new Error(`invalid value of ${name}: ${value}, err: ${messageOf(cause)}`, { cause })
    }
  }
  return gates
}

/** Parses `key:value,...`, and merges the labels with the labels of earlier flags. */
function readLabels(text: string, before?: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const labels = new Map(before)
  for (const item of text.split(',')) {
    const [key, value, ...more] = item.split(':')
    if (key === undefined || value === undefined || more.length > 0) {
      throw new Error(`malformed item in list of labels: ${item}`)
    }
    labels.set(key, value)
  }
  return labels
}
