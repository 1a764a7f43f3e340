import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import type { RunningSidecar, SidecarSetup, TestContext } from '../harness/context.ts'
import type { FakeDriver } from '../harness/driver/driver.ts'
import type { Subject } from '../harness/subject.ts'
import { eventually } from '../harness/waiting.ts'
import { attach, attached } from './attacher/scene.ts'
import { raised } from './resizer/scene.ts'
import { createClass as createSnapshotClass, installCrds, snapshot } from './snapshotter/scene.ts'

/** Work for the sidecar under test: a volume to attach, or a claim to expand. */
export interface Work {
  readonly suffix?: string
  /** The Secret for the call to the driver. */
  readonly secret?: { readonly name: string; readonly namespace: string }
}

const OF_ATTACHER = ['volumeattachments', 'csinodes']
export const WATCHED: Readonly<Record<Subject, readonly string[]>> = {
  attacher: [...OF_ATTACHER, 'persistentvolumes'],
  resizer: ['persistentvolumes', 'persistentvolumeclaims'],
  provisioner: ['persistentvolumes', 'persistentvolumeclaims', 'storageclasses'],
  snapshotter: ['volumesnapshotcontents'],
  both: [...OF_ATTACHER, 'persistentvolumes', 'persistentvolumeclaims'],
}

/** Flags for short back-offs. */
export const QUICK = ['--retry-interval-start=200ms', '--retry-interval-max=1s']
/** Flags for Leases of a few seconds and for short back-offs. */
export const ELECTION = [
  '--leader-election',
  '--leader-election-lease-duration=6s',
  '--leader-election-renew-deadline=4s',
  '--leader-election-retry-period=1s',
  ...QUICK,
]

/**
 * Flags for a Lease that does not expire during a test, so that a standby leads only after a release. A slow request for
 * the Lease does not fail.
 */
export const LONG_LEASE = [
  '--leader-election',
  '--leader-election-lease-duration=300s',
  '--leader-election-renew-deadline=240s',
  '--leader-election-retry-period=1s',
]

/** Waits until a leader has renewed its Lease more times. A wrong leader beside it would lead by then. */
export async function renewed({ gate }: Pick<RunningSidecar, 'gate'>, times = 3): Promise<void> {
  const before = gate.writes('leases').length
  await eventually(`${times} renewals of the Lease`, () => gate.writes('leases').length >= before + times)
}

/** A running sidecar of any kind with its driver, and the name of a node. The work of the test can begin. */
export interface WorkScene {
  readonly driver: FakeDriver
  readonly sidecar: RunningSidecar
  readonly node: string
}

/**
 * The differences of a `WorkScene` from the default: the sidecar under test, with a driver that attaches and expands.
 */
export interface WorkSetup extends SidecarSetup {
  readonly app?: Subject
  /** Prepares the driver before the sidecar starts. */
  readonly prepare?: (driver: FakeDriver) => void
  /** The resources that the sidecar must watch before the test continues. Default: all resources that it works with. */
  readonly watches?: readonly string[]
}

/** Creates a node and a StorageClass. Starts a driver and the sidecar, and waits for the sidecar's watches. */
export async function scene(t: TestContext, { prepare, watches, ...setup }: WorkSetup = {}): Promise<WorkScene> {
  const driver = setup.driver ?? (await t.fullDriver())
  prepare?.(driver)
  const node = await surroundings(t)
  const sidecar = await t.sidecar({ ...setup, driver })
  await t.watching(sidecar, ...(watches ?? WATCHED[setup.app ?? t.app]))
  return { driver, sidecar, node }
}

/** Creates a node and a StorageClass, and returns the name of the node. */
export async function surroundings(t: TestContext): Promise<string> {
  await t.createClass()
  return t.createNode()
}

export async function begin(t: TestContext, { suffix = '', secret }: Work = {}): Promise<void> {
  const pv = { csi: { controllerPublishSecretRef: secret, controllerExpandSecretRef: secret } }
  if (t.app === 'attacher') await attach(t, { node: t.name('node') }, { suffix, pv })
  else await raised(t, { suffix, pv })
}

export async function done(t: TestContext, { suffix = '', within }: Work & { within?: number } = {}): Promise<void> {
  if (t.app === 'attacher') {
    await attached(t, t.name(`va${suffix}`), { within })
    return
  }
  const ref = { namespace: t.namespace, name: t.name(`pvc${suffix}`), within }
  await t.api.until(PERSISTENT_VOLUME_CLAIMS, ref, ({ status }) => status?.capacity?.['storage'] === '2Gi')
}

export async function work(t: TestContext, fields: Work & { within?: number } = {}): Promise<void> {
  await begin(t, fields)
  await done(t, fields)
}

const WHOLE_POD = ['attacher', 'resizer', 'provisioner', 'snapshotter']

/** Starts all four controllers in one process, and waits for their watches. */
export async function pod(t: TestContext, setup: PodSetup = {}): Promise<WorkScene> {
  const { more = [], args = [], binary } = setup
  await installCrds(t)
  const driver = await t.driver({
    controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT'],
  })
  driver.on('CreateSnapshot', snapshot())
  const node = await surroundings(t)
  await createSnapshotClass(t)
  const controllers = `--controllers=${[...WHOLE_POD, ...more].join()}`
  const sidecar = await t.sidecar({ driver, app: 'both', role: 'pod', binary, args: [controllers, ...args] })
  await t.watching(sidecar, ...WATCHED.both, 'storageclasses', 'volumesnapshotcontents', 'volumesnapshotclasses')
  return { driver, sidecar, node }
}

interface PodSetup extends Pick<SidecarSetup, 'args' | 'binary'> {
  /** The controllers in addition to the four. */
  readonly more?: readonly string[]
}
