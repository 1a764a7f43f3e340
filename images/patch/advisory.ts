/** A published weakness of something that a release ships. */
export interface Advisory {
  readonly id: string
  readonly component: Component
  /** The versions that mend it, at most one for each minor version; empty while there is none. */
  readonly fixes: readonly string[]
}

/** `node` is Node.js itself; the others are packages of npm. */
export type Component = 'node' | `npm:${string}`

/** An entry of the list of the Node.js project (nodejs/security-wg, vuln/core). */
export interface NodeEntry {
  readonly cve: readonly string[]
  /** `20.x || 22.x` */
  readonly vulnerable: string
  /** `^20.12.1 || ^22.7.2`; absent while there is none. */
  readonly patched?: string
}

/** What OSV (https://osv.dev) says of one version of a package. */
export interface OsvEntry {
  readonly id: string
  readonly aliases?: readonly string[]
  readonly affected: readonly {
    readonly package: { readonly name: string; readonly ecosystem: string }
    readonly ranges?: readonly { readonly events: readonly { readonly fixed?: string }[] }[]
  }[]
}

/** Those about a version of Node.js. A range that cannot be read counts as one about it. */
export function nodeAdvisories(entries: readonly NodeEntry[], version: string): readonly Advisory[] {
  const major = version.split('.')[0] ?? ''
  return entries
    .filter(({ vulnerable }) => vulnerable.split('||').some((range) => mayContain(range.trim(), major)))
    .map(({ cve, patched = '' }): Advisory => {
      const fixes = [...patched.matchAll(/(\d+)\.\d+\.\d+/g)].filter(([, of]) => of === major).map(([fix]) => fix)
      return { id: cve.join(' '), component: 'node', fixes }
    })
    .filter(({ fixes }) => fixes.length === 0 || fixes.every((fix) => isOlder(version, fix)))
}

function mayContain(range: string, major: string): boolean {
  const simple = /^[\^~=v]*(\d+)(?:\.[\dx*]+){0,2}$/.exec(range)
  return simple === null || simple[1] === major
}

/** OSV is asked for one version, so each of its entries is about it. */
export function npmAdvisories(entries: readonly OsvEntry[], name: string): readonly Advisory[] {
  return entries.map(({ id, aliases = [], affected }) => {
    const own = affected.filter((one) => one.package.name === name && one.package.ecosystem === 'npm')
    const events = own.flatMap(({ ranges = [] }) => ranges.flatMap((range) => range.events))
    const fixes = events.flatMap(({ fixed }) => fixed ?? [])
    return {
      id: [...aliases.filter((alias) => alias.startsWith('CVE-')), id].join(' '),
      component: `npm:${name}`,
      fixes,
    }
  })
}

/** Compares versions of three numbers. */
export function isOlder(version: string, other: string): boolean {
  const [one, two] = [numbersOf(version), numbersOf(other)]
  const at = one.findIndex((number, index) => number !== two[index])
  return at >= 0 && (one[at] ?? 0) < (two[at] ?? 0)
}

function numbersOf(version: string): readonly number[] {
  const numbers = /^(\d+)\.(\d+)\.(\d+)$/.exec(version)?.slice(1).map(Number)
  if (numbers === undefined) throw new Error(`${version} is no version of three numbers`)
  return numbers
}
