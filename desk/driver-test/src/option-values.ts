/** The kinds of volumes that a driver may lack. Every driver must support ReadWriteOnce volumes with a file system. */
export const KINDS = ['block', 'shared', 'clone', 'topology', 'inline'] as const
export type CapabilityKind = (typeof KINDS)[number]

export function listOf(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').filter((each) => each !== '')
}

export function kindOf(name: string): CapabilityKind {
  const kind = KINDS.find((each) => each === name)
  if (kind === undefined) throw new Error(`--capabilities ${name}: known are ${KINDS.join(', ')}`)
  return kind
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

/** Returns the parameters as texts such as `type=fast`. */
export function pairsOf(parameters: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(parameters).map((pair) => pair.join('='))
}

/** Quotes a value as one argument for a shell. */
export function quoted(value: string): string {
  return /^[\w@%+=:,./-]*$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`
}
