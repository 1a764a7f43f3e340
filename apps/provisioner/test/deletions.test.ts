import { FakeClock } from '@csi-sidecars/base/testing'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc, type Volume } from '@csi-sidecars/csi-proto'
import { type ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  SECRETS,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { bound, DRIVER, FakeApi, type InFlight, pv, pvc, secret, storageClass, va } from '@csi-sidecars/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { DELETION_SECRET_NAME, DELETION_SECRET_NAMESPACE, VOLUME_FINALIZER } from '../src/caches/names.ts'
import { Process } from '../src/testing/model/process.ts'
import { ModelStorage } from '../src/testing/model/storage.ts'

const OWNER = { 'volume.kubernetes.io/storage-provisioner': DRIVER }
const DELETED = { persistentVolumeReclaimPolicy: 'Delete' } as const
/** A finalizer that keeps a deleted object. */
const FOREIGN_FINALIZER = 'example.com/held'

let clock: FakeClock
let api: FakeApi<ApiError>
let deletions: string[]
/** The Secrets of the deletions. */
let secrets: Readonly<Record<string, string>>[]
/** The error with which the driver refuses DeleteVolume. */
let refusal: RpcError | undefined
let answer: (volume: Volume) => Volume
let process: Process

beforeEach(async () => {
  clock = new FakeClock()
  api = new FakeApi({ clock, errorOf: apiErrorOf })
  deletions = []
  secrets = []
  refusal = undefined
  answer = (volume) => volume
  api.store(STORAGE_CLASSES, storageClass())
  process = new Process({
    api,
    clock,
    storage: new ModelStorage(),
    controller: [ControllerRpc.CLONE_VOLUME],
    settings: { cloneReleaseWorkers: 1 },
    attaches: true,
    onCreate: () => {},
    onDelete: (handle, request) => {
      deletions.push(handle)
      secrets.push(request.secrets)
      if (refusal !== undefined) throw refusal
    },
    answer: (volume) => answer(volume),
  })
  await answerAll()
})
afterEach(() => process.kill())

/** Answers all requests and calls, and all requests that they cause, except requests that `isKept` accepts. */
async function answerAll(isKept: (flight: InFlight) => boolean = () => false): Promise<void> {
  for (;;) {
    await clock.settle()
    const flight = process.gate.inFlight.find((each) => !isKept(each))
    if (flight === undefined) return
    flight.answer()
  }
}

async function deliverAndAnswerAll(isKept?: (flight: InFlight) => boolean): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    process.deliver()
    await answerAll(isKept)
  }
}

const isCreation = ({ label }: InFlight): boolean => label.startsWith('call create')
const isSecretRead = ({ label }: InFlight): boolean => label.includes('/secrets/')

function release(name: string): void {
  api.edit(PERSISTENT_VOLUMES, { name }, { status: { phase: 'Released' } })
}

/** Creates a claim, and returns the name of its volume. */
function ask(spec: object = {}): string {
  const { metadata } = api.store(PERSISTENT_VOLUME_CLAIMS, pvc('data', { metadata: { annotations: OWNER }, spec }))
  return `pvc-${metadata?.uid}`
}

/** Stores a PersistentVolume of the driver, as another client does. */
function putVolume(name: string, volumeHandle: string, metadata: object = {}): void {
  const csi = { driver: DRIVER, volumeHandle }
  api.store(PERSISTENT_VOLUMES, pv(name, { metadata, spec: { ...DELETED, csi }, status: { phase: 'Bound' } }))
}

describe('a released PersistentVolume', () => {
  it('a volume with an attachment that the cache does not have yet is not deleted', async () => {
    putVolume('pv-1', 'vol-1', { finalizers: [VOLUME_FINALIZER] })
    await deliverAndAnswerAll()
    api.store(
      VOLUME_ATTACHMENTS,
      va('va-1', { spec: { source: { persistentVolumeName: 'pv-1' }, nodeName: 'node-1' } }),
    )
    release('pv-1')
    process.deliver(PERSISTENT_VOLUMES)
    await answerAll()
    expect([deletions, process.events]).toEqual([[], [expect.stringContaining('still attached to node node-1')]])
    api.delete(VOLUME_ATTACHMENTS, { name: 'va-1' })
    await deliverAndAnswerAll()
    expect(deletions).toEqual(['vol-1'])
  })

  it('DeleteVolume is repeated after the pause that the driver asks for', async () => {
    putVolume('pv-1', 'vol-1', { finalizers: [VOLUME_FINALIZER] })
    await deliverAndAnswerAll()
    refusal = new RpcError(CODES.Aborted, 'busy', { retryAfterMs: 5_000 })
    release('pv-1')
    await deliverAndAnswerAll()
    await clock.advance(4_900)
    await answerAll()
    expect(deletions).toEqual(['vol-1'])
    await clock.advance(200)
    await answerAll()
    expect(deletions).toEqual(['vol-1', 'vol-1'])
  })

  it('a volume that the user has just retained is not deleted', async () => {
    putVolume('pv-1', 'vol-1', { finalizers: [VOLUME_FINALIZER] })
    await deliverAndAnswerAll()
    release('pv-1')
    process.deliver()
    api.edit(PERSISTENT_VOLUMES, { name: 'pv-1' }, { spec: { persistentVolumeReclaimPolicy: 'Retain' } })
    await answerAll()
    expect(deletions).toEqual([])
  })

  /** Releases a volume whose Secret is being read before DeleteVolume. */
  const releaseWithSecret = async (): Promise<void> => {
    api.store(SECRETS, secret('creds', { key: 'first' }))
    const annotations = { [DELETION_SECRET_NAME]: 'creds', [DELETION_SECRET_NAMESPACE]: 'default' }
    putVolume('pv-1', 'vol-1', { finalizers: [VOLUME_FINALIZER], annotations })
    await deliverAndAnswerAll()
    release('pv-1')
    process.deliver()
    await answerAll(isSecretRead)
    expect(process.gate.inFlight.filter(isSecretRead)).toHaveLength(1)
  }

  it.each<[string, () => void]>([
    [
      'retains it',
      () => api.edit(PERSISTENT_VOLUMES, { name: 'pv-1' }, { spec: { persistentVolumeReclaimPolicy: 'Retain' } }),
    ],
    ['binds it again', () => api.edit(PERSISTENT_VOLUMES, { name: 'pv-1' }, { status: { phase: 'Bound' } })],
    [
      'attaches it',
      () =>
        api.store(
          VOLUME_ATTACHMENTS,
          va('va-1', { spec: { source: { persistentVolumeName: 'pv-1' }, nodeName: 'node-1' } }),
        ),
    ],
    [
      'strips its finalizers and deletes the PersistentVolume',
      () => {
        api.edit(PERSISTENT_VOLUMES, { name: 'pv-1' }, { metadata: { finalizers: null } })
        api.delete(PERSISTENT_VOLUMES, { name: 'pv-1' })
      },
    ],
  ])('a volume is not deleted if a user %s while the Secret is read', async (_, change) => {
    await releaseWithSecret()
    change()
    await answerAll()
    expect(deletions).toEqual([])
  })

  it('a volume is deleted with the Secret that its PersistentVolume names last', async () => {
    await releaseWithSecret()
    api.store(SECRETS, secret('other', { key: 'second' }))
    const annotations = { [DELETION_SECRET_NAME]: 'other' }
    api.edit(PERSISTENT_VOLUMES, { name: 'pv-1' }, { metadata: { annotations } })
    await answerAll()
    expect([deletions, secrets]).toEqual([['vol-1'], [{ key: 'second' }]])
  })

  it('a process that ends does not wait for its list of VolumeAttachments', async () => {
    putVolume('pv-1', 'vol-1', { finalizers: [VOLUME_FINALIZER] })
    await deliverAndAnswerAll()
    release('pv-1')
    process.deliver()
    const isList = ({ label }: InFlight): boolean => label === 'list volumeattachments'
    await answerAll(isList)
    expect(process.gate.inFlight.filter(isList)).toHaveLength(1)
    process.depose()
    await clock.settle()
    expect(process.gate.inFlight).toEqual([])
  })

  it('a volume is not deleted while a CreateVolume call that clones it may be running', async () => {
    const { claim, volume } = bound({ number: 9 })
    api.store(PERSISTENT_VOLUMES, { ...volume, spec: { ...volume.spec, ...DELETED } })
    api.store(PERSISTENT_VOLUME_CLAIMS, claim)
    ask({ dataSource: { kind: 'PersistentVolumeClaim', name: 'pvc-9' } })
    await deliverAndAnswerAll(isCreation)
    expect(process.gate.inFlight.filter(isCreation)).toHaveLength(1)
    api.edit(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'pvc-9' }, { metadata: { finalizers: null } })
    api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'pvc-9' })
    release('pv-9')
    await deliverAndAnswerAll(isCreation)
    expect(deletions).toEqual([])
    await deliverAndAnswerAll()
    expect(deletions).toEqual([volume.spec?.csi?.volumeHandle])
  })
})

describe('a volume without a PersistentVolume', () => {
  const created = async (name: string): Promise<void> => {
    process.deliver()
    await answerAll(isCreation)
    expect(process.gate.inFlight.map(({ label }) => label)).toEqual([`call create ${name}`])
  }

  it.each<[string, (volume: Volume) => Volume]>([
    ['whose name is taken', (volume) => volume],
    ['that is too small', (volume) => ({ ...volume, capacityBytes: 1n })],
  ])('a new volume %s is kept if a PersistentVolume names it that the cache does not have yet', async (_, change) => {
    answer = change
    const name = ask()
    await created(name)
    putVolume(name, 'vol-9')
    putVolume('imported', 'vol-1')
    await answerAll()
    expect(deletions).toEqual([])
    expect(process.events.at(-1)).toContain('imported')
  })

  it('a new volume is kept if a PersistentVolume names it that is created while the Secret is read', async () => {
    api.store(SECRETS, secret('creds', { key: 'first' }))
    const parameters = {
      'csi.storage.k8s.io/provisioner-secret-name': 'creds',
      'csi.storage.k8s.io/provisioner-secret-namespace': 'default',
    }
    api.store(STORAGE_CLASSES, storageClass('sc-1', { parameters }))
    const name = ask()
    await created(name)
    putVolume(name, 'vol-9')
    await answerAll(isSecretRead)
    expect(process.gate.inFlight.filter(isSecretRead)).toHaveLength(1)
    putVolume('imported', 'vol-1')
    await answerAll()
    expect(deletions).toEqual([])
    expect(process.events.at(-1)).toContain('imported')
  })

  it('a new volume that is too small is kept if a PersistentVolume names it before DeleteVolume is repeated', async () => {
    answer = (volume) => ({ ...volume, capacityBytes: 1n })
    const name = ask()
    await created(name)
    const isDeletion = ({ label }: InFlight): boolean => label.startsWith('call delete')
    await answerAll(isDeletion)
    const [deletion] = process.gate.inFlight.filter(isDeletion)
    putVolume('imported', 'vol-1')
    deletion?.answer(new RpcError(CODES.Internal, 'no'))
    await answerAll()
    expect(deletions).toEqual([])
    expect(process.events.at(-1)).toContain('imported')
  })

  it('a new volume whose name is taken is deleted if no PersistentVolume names it', async () => {
    const name = ask()
    await created(name)
    putVolume(name, 'vol-9')
    await answerAll()
    expect(deletions).toEqual(['vol-1'])
  })

  it('a volume is not deleted for its claim while its PersistentVolume is being deleted, but only afterwards', async () => {
    const name = ask()
    await created(name)
    putVolume(name, 'vol-1', { finalizers: [FOREIGN_FINALIZER] })
    release(name)
    api.delete(PERSISTENT_VOLUMES, { name })
    await answerAll()
    await clock.advance(1_000)
    await answerAll()
    expect(deletions).toEqual([])
    api.edit(PERSISTENT_VOLUMES, { name }, { metadata: { finalizers: null } })
    await clock.advance(5_000)
    await answerAll()
    expect(deletions).toEqual(['vol-1'])
  })
})
