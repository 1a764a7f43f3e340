import { FakeClock } from '@csi-sidecars/base/testing'
import { RpcError } from '@csi-sidecars/csi'
import type { Volume } from '@csi-sidecars/csi-proto'
import { apiErrorOf } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { DRIVER, FakeApi, pvc, storageClass } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import { Process, type ProcessOptions } from '../src/testing/model/process.ts'
import { ModelStorage } from '../src/testing/model/storage.ts'

const OWNER = 'volume.kubernetes.io/storage-provisioner'
const MANY = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`key-${index}`, 'x'.repeat(100)]))
const NO_VOLUME = 'the CSI driver answered CreateVolume without a volume'

/** Starts a provisioner. The returned function creates a claim, and returns the PersistentVolume that it has later. */
function begin(change: Partial<Pick<ProcessOptions, 'answer' | 'onDelete'>>) {
  const clock = new FakeClock()
  const api = new FakeApi({ clock, errorOf: apiErrorOf })
  const hooks = { onCreate: () => {}, onDelete: () => {} }
  const process = new Process({ api, clock, storage: new ModelStorage(), settings: {}, ...hooks, ...change })
  process.gate.open()
  process.deliverAtOnce()
  api.store(STORAGE_CLASSES, storageClass())
  const provisionedVolume = async (name: string, withinMs = 500) => {
    const claim = pvc(name, { metadata: { annotations: { [OWNER]: DRIVER } } })
    const { metadata } = api.store(PERSISTENT_VOLUME_CLAIMS, claim)
    await clock.advance(withinMs)
    return api.server.get(PERSISTENT_VOLUMES, { name: `pvc-${metadata?.uid}` })
  }
  return { process, api, clock, provisionedVolume }
}

it.each<[name: string, change: Partial<Volume> | undefined, error: string | undefined]>([
  ['no volume', undefined, NO_VOLUME],
  ['no ID', { volumeId: '' }, NO_VOLUME],
  ['a negative size', { capacityBytes: -5n }, `created volume capacity -5 less than requested capacity ${2 ** 30}`],
  ['the largest size', { capacityBytes: 2n ** 63n - 1n }, undefined],
  ['an ID with line breaks', { volumeId: 'a\nb\u0000\u{1F600}' }, undefined],
  ['attributes with strange keys', { volumeContext: { '': 'x', __proto__x: 'y', constructor: 'z' } }, undefined],
  ['many attributes', { volumeContext: MANY }, undefined],
  [
    'a source that was not requested',
    { contentSource: { type: { $case: 'volume', value: { volumeId: 'x' } } } },
    undefined,
  ],
])('after an answer to CreateVolume with %s, the provisioner continues with other claims', async (_, change, error) => {
  let isOdd = true
  const { process, provisionedVolume } = begin({
    answer: (volume) => (isOdd ? change && { ...volume, ...change } : volume),
  })
  const odd = await provisionedVolume('odd')
  const errors = process.log.lines.map((line) => String(line.error)).join()
  if (error === undefined) expect(odd).toMatchObject({ spec: { csi: { driver: DRIVER } } })
  else expect([odd, errors]).toEqual([undefined, expect.stringContaining(error)])
  isOdd = false
  expect(await provisionedVolume('usual')).toBeDefined()
  process.kill()
})

it.each([
  [2, '\u0000\n"%s%!d(MISSING)'],
  [8, 'later'],
  [13, ''],
  [17, 'unknown code'],
  [99, 'x'.repeat(100_000)],
])('after the error code %i of the driver with any text, the provisioner repeats the call', async (code, details) => {
  const failOnce = () => {
    let fails = true
    return (): void => {
      if (!fails) return
      fails = false
      throw new RpcError(code, details)
    }
  }
  const [onAnswer, onDelete] = [failOnce(), failOnce()]
  const answer = (volume: Volume): Volume => {
    onAnswer()
    return volume
  }
  const { process, api, clock, provisionedVolume } = begin({ answer, onDelete })
  const volume = await provisionedVolume('data', 3_000)
  expect(volume).toMatchObject({ spec: { csi: { driver: DRIVER } } })
  const ref = { name: volume?.metadata?.name ?? '' }
  api.edit(PERSISTENT_VOLUMES, ref, { status: { phase: 'Released' } })
  await clock.advance(3_000)
  expect(api.server.get(PERSISTENT_VOLUMES, ref)).toBeUndefined()
  process.kill()
})
