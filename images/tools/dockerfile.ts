/** What one target of a Dockerfile says: enough for files that are only copied. */
export interface Target {
  /** Folders of the context whose content becomes a layer each, at the root. */
  readonly layers: readonly string[]
  readonly environment: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly entrypoint: readonly string[]
  readonly user: string | undefined
}

type Values = Readonly<Record<string, string>>

const EMPTY: Target = { layers: [], environment: [], labels: {}, entrypoint: [], user: undefined }

/** Reads a target and those that it begins with. An instruction that this does not know ends it. */
export function readTarget(dockerfile: string, name: string, values: Values): Target {
  const stages = new Map<string, Target>([['scratch', EMPTY]])
  let current: { readonly name: string; target: Target; args: Values } | undefined
  for (const { keyword, rest } of instructions(dockerfile)) {
    if (keyword === 'FROM') {
      if (current !== undefined) stages.set(current.name, current.target)
      const [, from = '', stage = ''] = /^(\S+) AS (\S+)$/.exec(rest) ?? []
      const base = stages.get(from)
      if (base === undefined) throw new Error(`FROM ${rest}: no stage before it has the name ${from}`)
      current = { name: stage, target: base, args: {} }
    } else if (current === undefined) throw new Error(`${keyword} ${rest} comes before the first FROM`)
    else if (keyword === 'ARG') current.args = { ...current.args, ...argument(rest, values) }
    else current.target = with_(current.target, keyword, filled(rest, current.args))
  }
  if (current !== undefined) stages.set(current.name, current.target)
  const found = stages.get(name)
  if (found === undefined) throw new Error(`the Dockerfile has no target ${name}`)
  return found
}

interface Instruction {
  readonly keyword: string
  readonly rest: string
}

function instructions(dockerfile: string): readonly Instruction[] {
  const lines = dockerfile
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
  return lines
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const space = line.indexOf(' ')
      return { keyword: line.slice(0, space), rest: line.slice(space + 1).trim() }
    })
}

function argument(text: string, values: Values): Values {
  const [key = '', usual] = text.split('=')
  const value = values[key] ?? usual
  if (value === undefined) throw new Error(`ARG ${key} has no value`)
  return { [key]: value }
}

const filled = (text: string, args: Values): string =>
  text.replace(/\$\{(\w+)\}/g, (_, key: string) => {
    const value = args[key]
    if (value === undefined) throw new Error(`no ARG says what \${${key}} is`)
    return value
  })

function with_(target: Target, keyword: string, rest: string): Target {
  switch (keyword) {
    case 'COPY': {
      const folder = /^(\S+)\/ \/$/.exec(rest)?.[1]
      if (folder === undefined) throw new Error(`COPY ${rest}: only a folder can be copied, and only to /`)
      return { ...target, layers: [...target.layers, folder] }
    }
    case 'ENV':
      return { ...target, environment: [...target.environment, rest] }
    case 'LABEL': {
      const pairs = [...rest.matchAll(/([\w.]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value])
      return { ...target, labels: { ...target.labels, ...(Object.fromEntries(pairs) as Values) } }
    }
    case 'ENTRYPOINT':
      return { ...target, entrypoint: JSON.parse(rest) as readonly string[] }
    case 'USER':
      return { ...target, user: rest }
    default:
      throw new Error(`${keyword} ${rest}: a release does not know this instruction`)
  }
}
