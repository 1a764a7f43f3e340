import { readFileSync } from 'node:fs'
import {
  changesAfter,
  concerns,
  type Facts,
  type SidecarName,
  type SwapChange,
  type SwapCondition,
} from '@csi-sidecars/swap-changes'
import { code, table } from './markdown.ts'

export interface PublicDriver {
  readonly name: string
  /** The command lines of the containers, by sidecar. */
  readonly sidecars: Readonly<Record<string, readonly string[]>>
  readonly remains: readonly string[]
  readonly note?: string
}

/** The versions of the sidecars in the newest examined manifest of a driver. A missing sidecar has no fixed version. */
export interface DriverVersions {
  /** The file in the repository of the driver, if it is not the manifest. */
  readonly from?: string
  /** Whether the source of the driver reports topology, VOLUME_ACCESSIBILITY_CONSTRAINTS. Undefined: not examined. */
  readonly topology?: boolean
  readonly versions: Readonly<Partial<Record<SidecarName, string>>>
}

export const PUBLIC_DRIVERS: readonly PublicDriver[] = readJson('../../charts/tests/public-drivers.json')
export const DRIVER_VERSIONS: Readonly<Record<string, DriverVersions>> = readJson('./public-driver-versions.json')

export type Consequence =
  | { readonly kind: 'change'; readonly sidecar: SidecarName; readonly change: SwapChange; readonly certain: boolean }
  | { readonly kind: 'not-examined'; readonly sidecar: SidecarName }

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as T
}

const SIDECARS: readonly SidecarName[] = ['attacher', 'provisioner', 'resizer', 'snapshotter', 'livenessprobe']

/** Returns the table of the public drivers in the tests: versions, what follows from them, and what remains. */
export function publicDriversTable(): string {
  const rows = PUBLIC_DRIVERS.map((driver) => [
    driver.name,
    versionsOf(driver),
    consequencesText(driver),
    [...driver.remains.map(code), ...(driver.note === undefined ? [] : [driver.note])].join('; '),
  ])
  return table(['driver', 'replaced', 'before the swap look at', 'remains, and notes'], rows)
}

/** Returns the sidecars with their versions, and with the number of containers if the driver has several of one. */
function versionsOf({ name, sidecars }: PublicDriver): string {
  const { versions } = versionsFor(name)
  return SIDECARS.filter((app) => sidecars[app] !== undefined)
    .map((app) => {
      const lines = sidecars[app] ?? []
      const version = versions[app] === undefined ? ', version not fixed' : ` ${shortVersion(versions[app])}`
      return `${app}${version}${lines.length === 1 ? '' : ` (${lines.length} times)`}`
    })
    .join('; ')
}

function versionsFor(name: string): DriverVersions {
  const found = DRIVER_VERSIONS[name]
  if (found === undefined) throw new Error(`public-driver-versions.json lacks ${name}`)
  return found
}

/** Returns the version without the suffix of a vendor's build. */
function shortVersion(version: string): string {
  return version.replace(/^v/, '').replace(/-.*$/, '')
}

const TOPOLOGY = 'VOLUME_ACCESSIBILITY_CONSTRAINTS'

/**
 * Returns the dangerous changes for a driver by its versions, flags and gates. Most capabilities of drivers and the
 * versions of clusters are unknown here, so a change that depends on them is not certain.
 */
export function consequencesOf({ name, sidecars }: PublicDriver): readonly Consequence[] {
  const { versions, topology } = versionsFor(name)
  return SIDECARS.flatMap((sidecar) => {
    const version = versions[sidecar]
    const lines = sidecars[sidecar]
    if (version === undefined || lines === undefined) return []
    const { kind, changes } = changesAfter(sidecar, version)
    const notExamined: readonly Consequence[] = kind === 'not-examined' ? [{ kind, sidecar }] : []
    const dangers = changes.filter(({ weight }) => weight === 'danger')
    return [
      ...notExamined,
      ...dangers.flatMap((change): readonly Consequence[] => {
        const answers = lines.map((line) => concerns(change, { ...factsOf(line), ...topologyFact(change, topology) }))
        if (answers.every((answer) => answer === 'no')) return []
        return [{ kind: 'change', sidecar, change, certain: answers.includes('yes') }]
      }),
    ]
  })
}

/** Returns the capabilities for a change that depends on topology alone, if it is known whether the driver reports it. */
function topologyFact({ conditions }: SwapChange, topology: boolean | undefined): Facts {
  const needsAnother = (each: SwapCondition): boolean => each.kind === 'capability' && each.capability !== TOPOLOGY
  if (topology === undefined || conditions.some(needsAnother)) return {}
  return { capabilities: new Set(topology ? [TOPOLOGY] : []) }
}

/** Returns the facts in a command line. */
function factsOf(line: string): Facts {
  const flags = new Set<string>()
  const gates = new Map<string, boolean>()
  for (const argument of line.split(' ')) {
    const [, flag, value = ''] = /^--?([^=]+)(?:=(.*))?$/.exec(argument) ?? []
    if (flag === undefined) continue
    flags.add(flag)
    if (flag !== 'feature-gates') continue
    for (const pair of value.split(',')) {
      const [gate = '', set] = pair.split('=')
      gates.set(gate, set === 'true')
    }
  }
  return { flags, gates }
}

/** Returns the consequences by sidecar. A question mark means that it depends on the driver or the cluster. */
function consequencesText(driver: PublicDriver): string {
  const consequences = consequencesOf(driver)
  return SIDECARS.flatMap((sidecar) => {
    const own = consequences.filter((each) => each.sidecar === sidecar)
    return own.length === 0 ? [] : [`${sidecar}: ${own.map(consequenceText).join(', ')}`]
  }).join('; ')
}

function consequenceText(consequence: Consequence): string {
  if (consequence.kind === 'not-examined') return 'older than the examined versions'
  const { change, certain } = consequence
  return certain ? change.title : `${change.title}?`
}
