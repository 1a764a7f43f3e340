import { FakeClock } from '@csi-sidecars/base/testing'
import { ControllerServiceCapability_RPC_Type as ControllerRpc, type Volume } from '@csi-sidecars/csi-proto'
import { type ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { bound, DRIVER, FakeApi, type InFlight, pv, pvc, storageClass, va } from '@csi-sidecars/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { VOLUME_FINALIZER } from '../src/caches/names.ts'
import { Process } from '../src/testing/model/process.ts'
import { ModelStorage } from '../src/testing/model/storage.ts'

const OWNER = { 'volume.kubernetes.io/storage-provisioner': DRIVER }
const DELETED = { persistentVolumeReclaimPolicy: 'Delete' } as const
/** A finalizer that keeps a deleted object. */
const HELD = 'example.com/held'

let clock: FakeClock
let api: FakeApi<ApiError>
let deletions: string[]
let answer: (volume: Volume) => Volume
let process: Process

beforeEach(async () => {
  clock = new FakeClock()
  api = new FakeApi({ clock, errorOf: apiErrorOf })
  deletions = []
  answer = (volume) => volume
  api.put(STORAGE_CLASSES, storageClass())
  process = new Process({
    api,
    clock,
    storage: new ModelStorage(),
    controller: [ControllerRpc.CLONE_VOLUME],
    settings: { cloneReleaseWorkers: 1 },
    attaches: true,
    onCreate: () => {},
    onDelete: (handle) => void deletions.push(handle),
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

function release(name: string): void {
  api.edit(PERSISTENT_VOLUMES, { name }, { status: { phase: 'Released' } })
}

/** Creates a claim, and returns the name of its volume. */
function ask(spec: object = {}): string {
  const { metadata } = api.put(PERSISTENT_VOLUME_CLAIMS, pvc('data', { metadata: { annotations: OWNER }, spec }))
  return `pvc-${metadata?.uid}`
}

/** Stores a PersistentVolume of the driver, as another client does. */
function putVolume(name: string, volumeHandle: string, metadata: object = {}): void {
  const csi = { driver: DRIVER, volumeHandle }
  api.put(PERSISTENT_VOLUMES, pv(name, { metadata, spec: { ...DELETED, csi }, status: { phase: 'Bound' } }))
}

describe('a released PersistentVolume', () => {
  it('a volume with an attachment that the cache does not have yet is not deleted', async () => {
    putVolume('pv-1', 'vol-1', { finalizers: [VOLUME_FINALIZER] })
    await deliverAndAnswerAll()
    api.put(VOLUME_ATTACHMENTS, va('va-1', { spec: { source: { persistentVolumeName: 'pv-1' }, nodeName: 'node-1' } }))
    release('pv-1')
    process.deliver(PERSISTENT_VOLUMES)
    await answerAll()
    expect([deletions, process.events]).toEqual([[], [expect.stringContaining('still attached to node node-1')]])
    api.delete(VOLUME_ATTACHMENTS, { name: 'va-1' })
    await deliverAndAnswerAll()
    expect(deletions).toEqual(['vol-1'])
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

  it('a volume is not deleted while a CreateVolume call that clones it may be running', async () => {
    const { claim, volume } = bound({ number: 9 })
    api.put(PERSISTENT_VOLUMES, { ...volume, spec: { ...volume.spec, ...DELETED } })
    api.put(PERSISTENT_VOLUME_CLAIMS, claim)
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
    putVolume(name, 'vol-1', { finalizers: [HELD] })
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
