import { FakeClock } from '@csi-sidecars/base/testing'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { type ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  SECRETS,
  STORAGE_CLASSES,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { bound, DRIVER, FakeApi, pvc, secret, storageClass, vac } from '@csi-sidecars/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Process } from '../src/testing/model/process.ts'
import { ModelStorage } from '../src/testing/model/storage.ts'

const DATA = { namespace: 'default', name: 'data' }
const OWNER = 'volume.kubernetes.io/storage-provisioner'
/** The back-off is longer than a test, so only the change of the missing object can cause the retry. */
const RETRY_MS = 600_000
const SOON_MS = 2_500

let clock: FakeClock
let api: FakeApi<ApiError>
let storage: ModelStorage
let process: Process

beforeEach(() => {
  clock = new FakeClock()
  api = new FakeApi({ clock, errorOf: apiErrorOf })
  storage = new ModelStorage()
  process = new Process({
    api,
    clock,
    storage,
    controller: [ControllerRpc.CLONE_VOLUME, ControllerRpc.MODIFY_VOLUME, ControllerRpc.CREATE_DELETE_SNAPSHOT],
    settings: { retryStartMs: RETRY_MS, retryMaxMs: RETRY_MS },
    onCreate: () => {},
    onDelete: () => {},
  })
  process.deliverAtOnce()
})
afterEach(() => process.kill())

interface Wait {
  readonly spec?: object
  /** Creates objects before the claim. */
  readonly prepare?: () => void
  /** Creates or changes the object that the claim waits for. */
  readonly come: () => void
}

const { claim: source, volume: sourceVolume } = bound({ number: 9 })

/** Creates a VolumeSnapshot with its content, or makes the VolumeSnapshot ready. */
function putSnapshot(readyToUse: boolean): void {
  const head = { apiVersion: 'snapshot.storage.k8s.io/v1', metadata: { namespace: 'default', name: 'snap' } }
  const status = { boundVolumeSnapshotContentName: 'content', readyToUse, restoreSize: '1Gi' }
  const { metadata } = api.store(VOLUME_SNAPSHOTS, {
    ...head,
    kind: 'VolumeSnapshot',
    spec: { source: { volumeSnapshotContentName: 'content' } },
    status,
  } as never)
  if (readyToUse) return
  api.store(VOLUME_SNAPSHOT_CONTENTS, {
    ...head,
    kind: 'VolumeSnapshotContent',
    metadata: { name: 'content' },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      source: { snapshotHandle: 'handle' },
      volumeSnapshotRef: { namespace: 'default', name: 'snap', uid: metadata?.uid },
    },
    status: { readyToUse: true, snapshotHandle: 'handle' },
  } as never)
}

/** Creates a claim that asks the driver for a volume. Returns its UID. */
function ask(spec: object = {}): string | undefined {
  const metadata = { annotations: { [OWNER]: DRIVER } }
  return api.store(PERSISTENT_VOLUME_CLAIMS, pvc('data', { metadata, spec })).metadata?.uid
}

const RESTORE = { dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' } }

const WAITS: Readonly<Record<string, Wait>> = {
  'its class': {
    spec: { storageClassName: 'late' },
    come: () => api.store(STORAGE_CLASSES, storageClass('late')),
  },
  'the new form of its class, whose parameters are wrong,': {
    prepare: () =>
      api.store(STORAGE_CLASSES, storageClass('sc-1', { parameters: { 'csi.storage.k8s.io/unknown': 'x' } })),
    come: () => {
      api.delete(STORAGE_CLASSES, { name: 'sc-1' })
      api.store(STORAGE_CLASSES, storageClass())
    },
  },
  'the Secret of its class': {
    prepare: () => {
      const parameters = {
        'csi.storage.k8s.io/provisioner-secret-name': 'late',
        'csi.storage.k8s.io/provisioner-secret-namespace': 'default',
      }
      api.store(STORAGE_CLASSES, storageClass('sc-1', { parameters }))
    },
    come: () => api.store(SECRETS, secret('late', { a: 'b' })),
  },
  'its VolumeAttributesClass': {
    spec: { volumeAttributesClassName: 'gold' },
    come: () => api.store(VOLUME_ATTRIBUTES_CLASSES, vac('gold')),
  },
  'its source claim': {
    spec: { dataSource: { kind: 'PersistentVolumeClaim', name: 'pvc-9' } },
    come: () => {
      api.store(PERSISTENT_VOLUMES, sourceVolume)
      api.store(PERSISTENT_VOLUME_CLAIMS, source)
    },
  },
  'its VolumeSnapshot': {
    spec: RESTORE,
    prepare: () => putSnapshot(false),
    come: () => putSnapshot(true),
  },
}

describe('waiting claims', () => {
  it.each(Object.entries(WAITS))(
    'a claim that waits for %s is provisioned as soon as it is usable',
    async (_, wait) => {
      process.gate.open()
      api.store(STORAGE_CLASSES, storageClass())
      wait.prepare?.()
      const uid = ask(wait.spec)
      await clock.advance(20_000)
      expect(storage.volumes.size).toBe(0)
      wait.come()
      await clock.advance(SOON_MS)
      expect(api.server.get(PERSISTENT_VOLUMES, { name: `pvc-${uid}` })).toBeDefined()
    },
  )

  it('without the sweep, a restored snapshot is released although another claim may still restore it', async () => {
    process.gate.open()
    api.store(STORAGE_CLASSES, storageClass())
    putSnapshot(true)
    putSnapshot(false)
    api.store(PERSISTENT_VOLUME_CLAIMS, pvc('unclaimed', { spec: RESTORE }))
    putSnapshot(true)
    const uid = ask(RESTORE)
    await clock.advance(SOON_MS)
    expect(api.server.get(PERSISTENT_VOLUMES, { name: `pvc-${uid}` })).toBeDefined()
    const snapshot = api.server.get(VOLUME_SNAPSHOTS, { namespace: 'default', name: 'snap' })
    expect(snapshot?.metadata?.finalizers ?? []).toEqual([])
  })

  it.each<[name: string, change: () => void]>([
    ['is bound to another volume', () => api.edit(PERSISTENT_VOLUME_CLAIMS, DATA, { spec: { volumeName: 'pv-1' } })],
    ['is deleted', () => api.delete(PERSISTENT_VOLUME_CLAIMS, DATA)],
  ])('a missing Secret is no longer read after the claim that waits for it %s', async (_, change) => {
    const reads = () => api.served.filter(({ verb, resource }) => verb === 'get' && resource === 'secrets').length
    process.gate.open()
    WAITS['the Secret of its class']?.prepare?.()
    ask()
    await clock.advance(5_000)
    change()
    await clock.advance(2_000)
    const before = reads()
    await clock.advance(60_000)
    expect(reads()).toBe(before)
  })

  it('a missing Secret is not read again for a claim that was deleted during the first read', async () => {
    WAITS['the Secret of its class']?.prepare?.()
    ask()
    const isRead = ({ label }: { readonly label: string }) => label.endsWith('/secrets/late')
    while (process.gate.inFlight.every((each) => !isRead(each))) {
      for (const each of [...process.gate.inFlight]) each.answer()
      await clock.settle()
    }
    api.delete(PERSISTENT_VOLUME_CLAIMS, DATA)
    await clock.settle()
    process.gate.open()
    await clock.advance(60_000)
    expect(api.served.filter(({ verb, resource }) => verb === 'get' && resource === 'secrets')).toHaveLength(1)
  })

  it('a slow API server does not shorten the back-off of a claim', async () => {
    api.store(STORAGE_CLASSES, storageClass())
    putSnapshot(false)
    ask(RESTORE)
    for (let second = 0; second < 120; second += 1) {
      for (const each of [...process.gate.inFlight]) each.answer()
      await clock.advance(1000)
    }
    // The first read of an awaited object may cause one more attempt, because the object may have changed before.
    const attempts = process.log.lines.filter(({ message }) => message === 'Failed to provision volume').length
    expect([attempts > 0, attempts <= 2]).toEqual([true, true])
  })
})
