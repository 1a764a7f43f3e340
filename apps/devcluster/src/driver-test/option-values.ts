/** Kinds of volumes that not every driver supports; a mounted one for one node is required. */
export const KINDS = ['block', 'shared', 'clone', 'topology', 'inline'] as const
export type Kind = (typeof KINDS)[number]

/** A flag that needs a value. */
export const textFlag = (describe: string) => ({ type: 'string', describe, requiresArg: true }) as const
export const numberFlag = (describe: string) => ({ type: 'number', describe, requiresArg: true }) as const

/** As Linux has it, and the end of the text after it. */
const LONGEST_PATH = 107

/** A socket's address, as it was given. Throws one line about one that cannot be. */
export function addressOf(flag: string, address: string): string {
  if (Buffer.byteLength(address.replace(/^unix:\/\//, '')) > LONGEST_PATH) {
    throw new Error(`--${flag} ${address}: the path of a socket has ${LONGEST_PATH} bytes at most`)
  }
  if (!/^unix:\/\/.|^\//.test(address)) {
    throw new Error(`--${flag} ${address}: only unix sockets are known, as unix:///path`)
  }
  return address
}

export function listOf(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').filter((each) => each !== '')
}

export function kindOf(name: string): Kind {
  const known = KINDS.find((each) => each === name)
  if (known === undefined) throw new Error(`--capabilities ${name}: known are ${KINDS.join(', ')}`)
  return known
}

export function parametersOf(flag: string, texts: readonly string[] = []): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=')
      if (at < 1) throw new Error(`--${flag} ${text}: it is as type=fast`)
      return [text.slice(0, at), text.slice(at + 1)]
    }),
  )
}

/** The same as texts. */
export function pairsOf(parameters: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(parameters).map((pair) => pair.join('='))
}

export function positive(name: string, value: number): number {
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number of 1 or more`)
  return value
}

/** Quoted as one argument for a shell. */
export function quoted(value: string): string {
  return /^[\w@%+=:,./-]*$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`
}
