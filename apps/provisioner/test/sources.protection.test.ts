import { FakeClock } from '@csi-sidecars/base/testing'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { type ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  STORAGE_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { bound, DRIVER, FakeApi, type InFlight, pvc, storageClass } from '@csi-sidecars/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { CLONE_FINALIZER, SNAPSHOT_FINALIZER } from '../src/caches/names.ts'
import { Process } from '../src/testing/model/process.ts'
import { ModelStorage } from '../src/testing/model/storage.ts'

const OWNER = 'volume.kubernetes.io/storage-provisioner'
const SWEEP_MS = 60_000
const SNAPSHOT = { namespace: 'default', name: 'snap' }
const RESTORE = { dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' } }
const ORIGINAL = { namespace: 'default', name: 'pvc-9' }
const CLONE = { dataSource: { kind: 'PersistentVolumeClaim', name: ORIGINAL.name } }
const { claim: original, volume: originalVolume } = bound({ number: 9 })
/** A finalizer that keeps a deleted object. */
const FOREIGN_FINALIZER = 'example.com/held'

let clock: FakeClock
let api: FakeApi<ApiError>
let process: Process

beforeEach(async () => {
  clock = new FakeClock()
  api = new FakeApi({ clock, errorOf: apiErrorOf })
  process = new Process({
    api,
    clock,
    storage: new ModelStorage(),
    controller: [ControllerRpc.CLONE_VOLUME, ControllerRpc.CREATE_DELETE_SNAPSHOT],
    settings: { sweepMs: SWEEP_MS, cloneReleaseWorkers: 1 },
    onCreate: () => {},
    onDelete: () => {},
  })
  api.store(STORAGE_CLASSES, storageClass())
  await answerAll()
})
afterEach(() => process.kill())

const isCreation = ({ label }: InFlight): boolean => label.startsWith('call create')

/** Delivers all events and answers all requests, and all calls that they cause, except requests that `isKept` accepts. */
async function answerAll(isKept: (flight: InFlight) => boolean = () => false, delivers = true): Promise<void> {
  for (;;) {
    if (delivers) process.deliver()
    await clock.settle()
    const flight = process.gate.inFlight.find((each) => !isKept(each))
    if (flight === undefined) return
    flight.answer()
  }
}

/** Answers requests and calls until a request of this kind is sent. Returns that request. */
async function reach(kind: string): Promise<InFlight> {
  await answerAll(({ label }) => label.startsWith(kind))
  const flight = process.gate.inFlight.find(({ label }) => label.startsWith(kind))
  if (flight === undefined) throw new Error(`no request: ${kind}`)
  return flight
}

function putSnapshot(finalizers: readonly string[] = []): void {
  const head = { apiVersion: 'snapshot.storage.k8s.io/v1' }
  const { metadata } = api.store(VOLUME_SNAPSHOTS, {
    ...head,
    kind: 'VolumeSnapshot',
    metadata: { ...SNAPSHOT, finalizers },
    spec: { source: { volumeSnapshotContentName: 'content' } },
    status: { boundVolumeSnapshotContentName: 'content', readyToUse: true, restoreSize: '1Gi' },
  } as never)
  api.store(VOLUME_SNAPSHOT_CONTENTS, {
    ...head,
    kind: 'VolumeSnapshotContent',
    metadata: { name: 'content' },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      source: { snapshotHandle: 'handle' },
      volumeSnapshotRef: { ...SNAPSHOT, uid: metadata?.uid },
    },
    status: { readyToUse: true, snapshotHandle: 'handle' },
  } as never)
}

function putOriginal(finalizers: readonly string[]): void {
  api.store(PERSISTENT_VOLUMES, originalVolume)
  api.store(PERSISTENT_VOLUME_CLAIMS, { ...original, metadata: { ...original.metadata, finalizers: [...finalizers] } })
}

/** Creates a claim that asks the driver for a volume. */
function ask(name: string, spec: object): void {
  api.store(PERSISTENT_VOLUME_CLAIMS, pvc(name, { metadata: { annotations: { [OWNER]: DRIVER } }, spec }))
}

const snapshotFinalizers = () => api.server.get(VOLUME_SNAPSHOTS, SNAPSHOT)?.metadata?.finalizers ?? []
const originalFinalizers = () => api.server.get(PERSISTENT_VOLUME_CLAIMS, ORIGINAL)?.metadata?.finalizers ?? []
const creations = () => process.gate.inFlight.filter(isCreation).length

describe('the source snapshot of a restore', () => {
  it('a restore that begins while another restore ends has its snapshot protected during the whole call', async () => {
    putSnapshot()
    ask('first', RESTORE)
    const first = await reach('call create')
    expect(snapshotFinalizers()).toEqual([SNAPSHOT_FINALIZER])
    first.answer()
    const isRead = ({ label }: InFlight): boolean => label.startsWith('get') && label.endsWith('/volumesnapshots/snap')
    await answerAll(isRead)
    const released = process.gate.inFlight.find(isRead)
    released?.apply()
    ask('second', RESTORE)
    await answerAll((each) => each === released || isCreation(each))
    released?.answer()
    await answerAll(isCreation)
    expect([creations(), snapshotFinalizers()]).toEqual([1, [SNAPSHOT_FINALIZER]])
    await answerAll()
    expect(snapshotFinalizers()).toEqual([])
  })

  it('the sweep keeps the finalizer if the API server has a pending claim that the cache does not have yet', async () => {
    ask('other', {})
    await answerAll()
    putSnapshot([SNAPSHOT_FINALIZER])
    ask('restored', RESTORE)
    await clock.advance(SWEEP_MS)
    await answerAll(isCreation, false)
    expect(snapshotFinalizers()).toEqual([SNAPSHOT_FINALIZER])
  })

  it('the sweep removes the finalizer if no claim of the namespace needs the snapshot', async () => {
    putSnapshot([SNAPSHOT_FINALIZER, FOREIGN_FINALIZER])
    await clock.advance(SWEEP_MS)
    await answerAll()
    expect(snapshotFinalizers()).toEqual([FOREIGN_FINALIZER])
  })
})

describe('the source claim of a clone', () => {
  it('a source claim keeps its finalizer while the CreateVolume call of a deleted clone may be running', async () => {
    putOriginal([])
    ask('copy', CLONE)
    const call = await reach('call create')
    expect(originalFinalizers()).toEqual([CLONE_FINALIZER])
    call.answer(new RpcError(CODES.DeadlineExceeded, 'context deadline exceeded'))
    api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'copy' })
    api.delete(PERSISTENT_VOLUME_CLAIMS, ORIGINAL)
    await answerAll(isCreation)
    await clock.advance(2_000)
    await answerAll(isCreation)
    expect([creations(), originalFinalizers()]).toEqual([1, [CLONE_FINALIZER]])
    await answerAll()
    await clock.advance(2_000)
    await answerAll()
    expect(api.server.get(PERSISTENT_VOLUME_CLAIMS, ORIGINAL)).toBeUndefined()
  })

  it('a clone reads its source claim again, because the cached finalizer may have been removed', async () => {
    putOriginal([CLONE_FINALIZER, FOREIGN_FINALIZER])
    ask('copy', CLONE)
    const read = await reach('get persistentvolumes')
    api.edit(PERSISTENT_VOLUME_CLAIMS, ORIGINAL, { metadata: { finalizers: [FOREIGN_FINALIZER] } })
    read.answer()
    await answerAll(isCreation)
    expect([creations(), originalFinalizers()]).toEqual([1, [FOREIGN_FINALIZER, CLONE_FINALIZER]])
  })

  it('a clone does not begin if a read of the source claim shows that the claim is being deleted', async () => {
    putOriginal([FOREIGN_FINALIZER])
    await answerAll()
    ask('copy', CLONE)
    const read = await reach('get persistentvolumes')
    api.delete(PERSISTENT_VOLUME_CLAIMS, ORIGINAL)
    read.answer()
    await answerAll(isCreation, false)
    expect([creations(), process.events.at(-1)]).toEqual([0, expect.stringContaining('is currently being deleted')])
  })
})
