import type { Facts, SidecarName, SwapChange, SwapCondition } from '@csi-sidecars/kubectl-csi/swap-changes'
import { changesSince } from '../../desk/kubectl-csi/src/plan/flags/changes.ts'
import { code, table } from './markdown.ts'
import { readText } from './source-texts.ts'

/** A driver in charts/tests/public-drivers.json. */
export interface PublicDriver {
  readonly name: string
  /** The command lines of the containers, by sidecar. */
  readonly sidecars: Readonly<Partial<Record<SidecarName, readonly string[]>>>
  /** The versions in the newest examined manifest. A missing sidecar has no fixed version. */
  readonly versions: Readonly<Partial<Record<SidecarName, string>>>
  /** Whether the source of the driver reports topology. Undefined: not examined. */
  readonly topology?: boolean
  readonly remains: readonly string[]
  readonly note?: string
}

export const PUBLIC_DRIVERS: readonly PublicDriver[] = JSON.parse(readText('charts/tests/public-drivers.json'))

const SIDECARS: readonly SidecarName[] = ['attacher', 'provisioner', 'resizer', 'snapshotter', 'livenessprobe']

/** Returns the table of the public drivers in the tests: versions, what follows from them, and what remains. */
export function publicDriversTable(): string {
  const rows = PUBLIC_DRIVERS.map((driver) => {
    const consequences = SIDECARS.flatMap((sidecar) => {
      const texts = consequencesOf(driver, sidecar, ({ title }) => title)
      return texts.length === 0 ? [] : [`${sidecar}: ${texts.join(', ')}`]
    })
    const remains = [...driver.remains.map(code), ...(driver.note === undefined ? [] : [driver.note])]
    return [driver.name, versionsText(driver), consequences.join('; '), remains.join('; ')]
  })
  return table(['driver', 'replaced', 'before the swap look at', 'remains, and notes'], rows)
}

/** Returns the sidecars with their versions, and with the number of containers if the driver has several of one. */
function versionsText({ sidecars, versions }: PublicDriver): string {
  const texts = SIDECARS.flatMap((sidecar) => {
    const lines = sidecars[sidecar]
    if (lines === undefined) return []
    // The suffix of a vendor's build is left out.
    const version = versions[sidecar]?.replace(/^v|-.*$/g, '') ?? ', version not fixed'
    return `${sidecar}${version.startsWith(',') ? '' : ' '}${version}${lines.length === 1 ? '' : ` (${lines.length} times)`}`
  })
  return texts.join('; ')
}

/**
 * Returns the dangerous changes of a sidecar for a driver by its version, flags and gates. Most capabilities of drivers
 * and the versions of clusters are unknown here. A change that depends on them is not certain and has a question mark.
 */
export function consequencesOf(
  { sidecars, versions, topology }: PublicDriver,
  sidecar: SidecarName,
  nameOf: (change: SwapChange) => string,
): readonly string[] {
  const version = versions[sidecar]
  const lines = sidecars[sidecar]
  if (version === undefined || lines === undefined) return []
  const found = lines.map((line) => changesSince(sidecar, version, factsOf(line)))
  const dangers = found
    .flatMap(({ changes }) => changes)
    .filter(({ change, untested }) => change.weight === 'danger' && !(topology === false && untested.some(isTopology)))
  const certain = dangers.filter(({ untested }) => untested.every((each) => topology === true && isTopology(each)))
  const isCertain = new Set(certain.map(({ change }) => change))
  const titles = [...new Set(dangers.map(({ change }) => change))].map(
    (change) => `${nameOf(change)}${isCertain.has(change) ? '' : '?'}`,
  )
  return found.some(({ isComplete }) => !isComplete) ? ['older than the examined versions', ...titles] : titles
}

function isTopology(condition: SwapCondition): boolean {
  return condition.kind === 'capability' && condition.capability === 'VOLUME_ACCESSIBILITY_CONSTRAINTS'
}

/** Returns the facts in a command line. */
function factsOf(line: string): Facts {
  const flags = [...line.matchAll(/(?:^| )--?([^= ]+)(?:=(\S*))?/g)].map(([, flag = '', value = '']) => ({
    flag,
    value,
  }))
  const gates = flags
    .filter(({ flag }) => flag === 'feature-gates')
    .flatMap(({ value }) => value.split(','))
    .map((pair) => pair.split('='))
  return {
    flags: new Set(flags.map(({ flag }) => flag)),
    gates: new Map(gates.map(([gate = '', value]) => [gate, value === 'true'])),
  }
}
