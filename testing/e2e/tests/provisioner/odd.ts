import { deepStrictEqual as equal } from 'node:assert'
import { STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { createdVolume } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { claimEvent, createClaim, createClass, deleted, GI, provision, provisioned, released, scene } from './scene.ts'

// The Go original ends, or reports no event, in several of these tests.
const test = testsOf('provisioner', 'odd answers and objects', { only: 'ours' })

const MANY = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`key-${index}`, 'x'.repeat(100)]))

/** Parts of the volume in the driver's answer, and the event of the claim. Undefined: the claim gets its volume. */
const ANSWERS: readonly (readonly [what: string, volume: object | undefined, event: string | undefined])[] = [
  ['no volume', undefined, 'the CSI driver answered CreateVolume without a volume'],
  ['no ID', { volumeId: '' }, 'the CSI driver answered CreateVolume without a volume'],
  ['a negative size', { capacityBytes: -5n }, `created volume capacity -5 less than requested capacity ${GI}`],
  ['the largest size', { capacityBytes: 2n ** 63n - 1n }, undefined],
  ['an ID with line breaks', { volumeId: 'a\nb\u0000\u{1F600}' }, undefined],
  ['attributes with strange keys', { volumeContext: { '': 'x', __proto__x: 'y', constructor: 'z' } }, undefined],
  ['many attributes', { volumeContext: MANY }, undefined],
  ['empty topologies', { accessibleTopology: [{ segments: {} }, { segments: {} }] }, undefined],
  [
    'a source that was not requested',
    { contentSource: { type: { $case: 'volume', value: { volumeId: 'x' } } } },
    undefined,
  ],
]

test('strange answers to CreateVolume neither end the process nor block other claims', async (t) => {
  const { driver, sidecar } = await scene(t, { topology: true, args: ['--immediate-topology=false'] })
  for (const [index, [what, parts, event]] of ANSWERS.entries()) {
    const suffix = `-${index}`
    driver.on('CreateVolume', ({ request }) => ({
      reply: { volume: parts && createdVolume(request, { volumeId: `${t.name(what)}`, ...parts }) },
    }))
    const uid = await createClaim(t, { suffix })
    if (event === undefined) await provisioned(t, uid)
    else await claimEvent(t, event, suffix)
  }
  driver.on('CreateVolume', { reply: {} })
  await provision(t)
  equal(sidecar.exit, undefined)
})

test('strange error codes and error messages do not end the process', async (t) => {
  const { driver, sidecar } = await scene(t)
  const answers = [
    { code: 0, message: '' },
    { code: 17, message: 'unknown code' },
    { code: 99, message: 'x'.repeat(100_000) },
    { code: 2, message: '\u0000\n"%s%!d(MISSING)' },
    { code: 13, message: '' },
    { code: 8, message: 'later', retryInfo: { seconds: 1 } },
  ]
  for (const [index, answer] of answers.entries()) {
    driver.on('CreateVolume', (_, nth) => (nth === 0 ? answer : { reply: {} }))
    driver.on('DeleteVolume', (_, nth) => (nth === 0 ? answer : { reply: {} }))
    const [, name] = await Promise.all([provision(t, { suffix: `-${index}` }), released(t, { what: `pv-${index}` })])
    await deleted(t, name)
  }
  equal(sidecar.exit, undefined)
})

/** Sizes of claims, and the bytes that CreateVolume requests. */
const SIZES = [
  ['1m', '1'],
  ['0.1', '1'],
  ['1Ei', `${2n ** 60n}`],
  ['100Ei', `${2n ** 63n - 1n}`],
  ['1e30', `${2n ** 63n - 1n}`],
] as const

test('each size that the API accepts is requested', async (t) => {
  const { driver } = await scene(t)
  for (const [index, [storage, bytes]] of SIZES.entries()) {
    await provision(t, { suffix: `-${index}`, spec: { resources: { requests: { storage } } } })
    const ranges = driver.fieldsOf('CreateVolume', 'capacity_range')
    equal([storage, ranges.at(-1)], [storage, { required_bytes: bytes }])
  }
})

test('the class in the beta annotation takes precedence over the field', async (t) => {
  const { driver } = await scene(t)
  await createClass(t, { parameters: { from: 'annotation' } }, 'beta')
  const annotations = { 'volume.beta.kubernetes.io/storage-class': t.name('beta') }
  const pv = await provision(t, { annotations })
  equal(pv.spec?.storageClassName, t.name('beta'))
  equal(driver.callsOf('CreateVolume')[0]?.request['parameters'], { from: 'annotation' })
  await createClaim(t, { suffix: '-empty', annotations: { 'volume.beta.kubernetes.io/storage-class': '' } })
  await provision(t, { suffix: '-next' })
})

test('strange parameters of a class reach the driver', async (t) => {
  const parameters = { constructor: 'a', 'a/b c': 'd', empty: '', csi: 'x', 'csi.storage.k8s.iox': 'y' }
  const { driver } = await scene(t, { class: { parameters } })
  await provision(t)
  equal(driver.callsOf('CreateVolume')[0]?.request['parameters'], parameters)
})

test('a class that changes its provisioner is not used for the claim', async (t) => {
  const { driver, sidecar } = await scene(t)
  await t.api.delete(STORAGE_CLASSES, { name: t.name('class') })
  await createClass(t, { provisioner: 'other.example.com' })
  await createClaim(t)
  await eventually('a look', () => sidecar.linesWith('the class has another provisioner').length > 0)
  equal(driver.callsOf('CreateVolume').length, 0)
})
