import { readFileSync } from 'node:fs'
import type { TestContext } from '../../harness/context.ts'
import type { Driver } from '../../harness/driver/driver.ts'
import { leaseName } from '../../harness/subject.ts'
import { type WorkScene, type WorkSetup, scene as workScene } from '../work.ts'

/** Leases with terms of seconds, and short back-offs. */
export const ELECTION = [
  '--leader-election',
  '--leader-election-lease-duration=6s',
  '--leader-election-renew-deadline=4s',
  '--leader-election-retry-period=1s',
  '--retry-interval-start=200ms',
  '--retry-interval-max=1s',
]

/** The leases of the Go originals for this test's driver. */
export function leasesOf({ driverName }: TestContext): { readonly attacher: string; readonly resizer: string } {
  return { attacher: leaseName('attacher', driverName), resizer: leaseName('resizer', driverName) }
}

/** Both controllers in one process, watching. */
export function scene(t: TestContext, setup: WorkSetup = {}): Promise<WorkScene> {
  return workScene(t, { ...setup, app: 'both' })
}

/** Connections that the driver has accepted and that are open. */
export function connectionsTo({ socket }: Driver): number {
  const CONNECTED = '03'
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n')
  return lines.filter((line) => line.endsWith(` ${socket}`) && line.split(/\s+/)[5] === CONNECTED).length
}
