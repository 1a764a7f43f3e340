import { LEASES, PERSISTENT_VOLUMES, PODS, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { pod, pv } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { ask, clientOf, type Stored, serving } from '../testing/ask.ts'
import { ago, lease } from '../testing/facts.ts'
import { sizeText } from './text.ts'

const LEASE = 'external-attacher-leader-csi-example-com'
const container = { name: 'csi-sidecars', image: 'none', args: ['--http-endpoint=:8080'] }
const LEADER: readonly Stored[] = [
  [LEASES, lease(LEASE)],
  [PODS, pod('pod-a', { metadata: { namespace: 'storage' }, spec: { containers: [container], volumes: null } })],
]
const SEARCH = {
  sidecar: 'external-provisioner',
  kind: 'volume',
  scope: 'backend',
  listedAt: ago(600),
  listed: 9,
  undecided: 0,
  omitted: 0,
}
const item = (change: object) => ({
  kind: 'volume',
  reason: 'NoObject',
  handle: 'vol-9',
  sizeBytes: 2 ** 30,
  since: ago(7200),
  ...change,
})
const page = (change: object = {}) => ({ driver: 'csi.example.com', searches: [SEARCH], items: [], ...change })

async function unreferenced(
  answer: object,
  { json = false, more = [] }: { json?: boolean; more?: readonly Stored[] } = {},
) {
  return await ask(
    clientOf(serving([...LEADER, ...more]), () => answer),
    { ask: 'unreferenced' },
    { json },
  )
}

describe('kubectl csi unreferenced', () => {
  it('prints a table of what the leader has found, what it means, and whose volumes were listed', async () => {
    const object = { kind: 'PersistentVolume', name: 'pv-7' }
    const items = [item({}), item({ handle: 'vol-7', reason: 'NotListed', object, sizeBytes: undefined })]
    const { code, text } = await unreferenced(page({ items }))
    expect(code).toBe(1)
    expect(text.split('\n')).toEqual([
      'DRIVER           KIND    REASON     HANDLE  SIZE  SEEN  OBJECT',
      'csi.example.com  volume  NoObject   vol-9   1Gi   2h',
      'csi.example.com  volume  NotListed  vol-7   ?     2h    PersistentVolume/pv-7',
      '',
      'NoObject: no object of the cluster names it.',
      'NotListed: an object names it, and the driver does not list it.',
      '',
      'csi.example.com: 9 volumes of this back end, not of this cluster were listed 10m ago.',
      '',
    ])
  })

  it('leaves out a volume that a PersistentVolume names by now', async () => {
    const named = pv('pv-9', { spec: { csi: { driver: 'csi.example.com', volumeHandle: 'vol-9' } } })
    const { code, text } = await unreferenced(page({ items: [item({})] }), { more: [[PERSISTENT_VOLUMES, named]] })
    expect([code, text.split('\n')[0]]).toEqual([0, 'Nothing was found.'])
  })

  it('asks the provisioner of a driver that has a StorageClass, but no CSIDriver', async () => {
    const [, leader] = LEADER
    const slow = { metadata: { name: 'slow' }, provisioner: 'csi.example.com' }
    const objects = [[LEASES, lease('csi-example-com')], leader, [STORAGE_CLASSES, slow]] as readonly Stored[]
    const client = clientOf(serving(objects), () => page({ items: [item({})] }))
    const { code, text } = await ask(client, { ask: 'unreferenced' })
    expect(code).toBe(1)
    expect(text).toContain('vol-9')
  })

  it('prints the same as JSON with `-o json`', async () => {
    const { text } = await unreferenced(page({ items: [item({})] }), { json: true })
    expect(JSON.parse(text)).toMatchObject({
      verdict: 'some',
      searches: [{ driver: 'csi.example.com', scope: 'backend', listed: 9 }],
      items: [{ reason: 'NoObject', handle: 'vol-9', sizeBytes: 1073741824 }],
    })
  })

  it.each([
    ['nothing was listed yet', { searches: [{ ...SEARCH, listedAt: undefined }] }, 'were not listed yet.'],
    [
      'volumes are undecided',
      { searches: [{ ...SEARCH, undecided: 2, undecidedBecause: 'x' }] },
      ' 2 are undecided: x.',
    ],
    ['the last listing failed', { searches: [{ ...SEARCH, failure: 'no' }] }, ' The last listing failed: no.'],
  ])('ends with the exit code 2 if %s', async (_, change, sentence) => {
    const { code, text } = await unreferenced(page(change))
    expect(code).toBe(2)
    expect(text).toContain(sentence)
  })

  it.each([{}, { items: 1, searches: [] }, { items: [1, null], searches: ['x'] }])(
    'does not fail on the answer %j of another program',
    async (answer) => {
      expect((await unreferenced(answer)).text).toContain('\n')
    },
  )

  it('prints handles of a driver without line breaks', async () => {
    const { text } = await unreferenced(page({ items: [item({ handle: 'a\nb' })] }))
    expect(text).toContain('a b')
  })
})

it.each([
  [undefined, '?'],
  [0, '0B'],
  [1536, '1.5Ki'],
  [2 ** 40, '1Ti'],
  [2 ** 70, '1048576Pi'],
])('the size %s is printed as %s', (bytes, expected) => {
  expect(sizeText(bytes)).toBe(expected)
})
