import { readFileSync } from 'node:fs'
import { CSI_NODES, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { csiNode, storageClass } from '../../harness/api/objects.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Driver } from '../../harness/driver/driver.ts'
import { expandedReply } from '../resizer/scene.ts'

/** Leases with terms of seconds, and short back-offs. */
export const ELECTION = [
  '--leader-election',
  '--leader-election-lease-duration=6s',
  '--leader-election-renew-deadline=4s',
  '--leader-election-retry-period=1s',
  '--retry-interval-start=200ms',
  '--retry-interval-max=1s',
]

export const KINDS = ['volumeattachments', 'csinodes', 'persistentvolumes', 'persistentvolumeclaims']

/** The leases of the Go originals for this test's driver. */
export function leasesOf({ driverName }: TestContext): { readonly attacher: string; readonly resizer: string } {
  const driver = driverName.replaceAll('.', '-')
  return { attacher: `external-attacher-leader-${driver}`, resizer: `external-resizer-${driver}` }
}

/** A driver that attaches and expands. */
export async function fullDriver(t: TestContext): Promise<Driver> {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
  driver.on('ControllerExpandVolume', (call) => expandedReply(call))
  return driver
}

export interface OneProcess {
  readonly driver: Driver
  readonly sidecar: RunningSidecar
  readonly node: string
}

/** The objects that either sidecar needs. */
export async function surroundings(t: TestContext): Promise<string> {
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [t.driverName]: `${node}-id` }))
  await t.create(STORAGE_CLASSES, storageClass(t.name('class'), t.driverName))
  return node
}

/** Both controllers in one process, watching. */
export async function scene(
  t: TestContext,
  { watches = KINDS, ...setup }: SidecarSetup & { watches?: readonly string[] } = {},
) {
  const driver = setup.driver ?? (await fullDriver(t))
  const node = await surroundings(t)
  const sidecar = await t.sidecar({ ...setup, app: 'both', driver })
  await t.watching(sidecar, ...watches)
  return { driver, sidecar, node } satisfies OneProcess
}

/** Connections that the driver has accepted and that are open. */
export function connectionsTo({ socket }: Driver): number {
  const CONNECTED = '03'
  const lines = readFileSync('/proc/net/unix', 'utf8').split('\n')
  return lines.filter((line) => line.endsWith(` ${socket}`) && line.split(/\s+/)[5] === CONNECTED).length
}
