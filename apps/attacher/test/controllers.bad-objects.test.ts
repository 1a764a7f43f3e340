import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { AttacherScenario } from '../src/testing/model/scenario.ts'
import { csi, DRIVER } from '../src/testing/views.ts'

interface Row {
  readonly name: string
  readonly va?: object
  readonly pv?: object
  readonly node?: object
  /** The error for users. Undefined if the object can be attached. */
  readonly error: string | undefined
}

const handle = (source: object = {}): object => csi({ volumeHandle: 'vol-bad', ...source })
const modes = (accessModes: unknown, more: object = {}): object => ({ spec: { accessModes, csi: handle(), ...more } })
const NO_SOURCE = 'neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source'
const NO_CSI = 'pv spec contained non-csi source that was not migrated'
const NO_DRIVER = `CSINode n9 does not contain driver ${DRIVER}`

const ROWS: Row[] = [
  { name: 'an attachment without a source', va: { spec: { attacher: DRIVER, nodeName: 'n9' } }, error: NO_SOURCE },
  {
    name: 'an attachment with a null source',
    va: { spec: { attacher: DRIVER, nodeName: 'n9', source: null } },
    error: NO_SOURCE,
  },
  {
    name: 'an attachment without a node',
    va: { spec: { attacher: DRIVER, source: { persistentVolumeName: 'bad' } } },
    error: 'csinode.storage.k8s.io "" not found',
  },
  { name: 'an attachment without a status', va: { status: undefined }, error: undefined },
  { name: 'an attachment with null status', va: { status: { attached: null, attachError: null } }, error: undefined },
  {
    name: 'an attachment with an annotation of one megabyte',
    va: { metadata: { name: 'bad.n9', annotations: { note: 'x'.repeat(1024 * 1024) } } },
    error: undefined,
  },
  {
    name: 'an attachment with an empty inline spec',
    va: { spec: { attacher: DRIVER, nodeName: 'n9', source: { inlineVolumeSpec: {} } } },
    error: 'inline volume spec contains nil CSI source',
  },
  { name: 'a volume without a spec', pv: { spec: null }, error: NO_CSI },
  { name: 'a volume without any source', pv: { spec: { accessModes: ['ReadWriteOnce'] } }, error: NO_CSI },
  { name: 'a volume with a null source', pv: { spec: { csi: null } }, error: NO_CSI },
  { name: 'a volume without access modes', pv: modes(undefined), error: 'unsupported AccessMode combination: []' },
  { name: 'a volume with null access modes', pv: modes(null), error: 'unsupported AccessMode combination: []' },
  { name: 'an unknown access mode', pv: modes(['New']), error: 'unsupported AccessMode combination: [New]' },
  {
    name: 'an unknown volume mode, which counts as a file system',
    pv: modes(['ReadWriteOnce'], { volumeMode: 'New' }),
    error: undefined,
  },
  {
    name: 'a volume without a handle, which only the driver refuses',
    pv: modes(['ReadWriteOnce'], { csi: { driver: DRIVER } }),
    error: undefined,
  },
  {
    name: 'a volume with null maps and lists',
    pv: modes(['ReadWriteOnce'], {
      mountOptions: null,
      csi: handle({ volumeAttributes: null, controllerPublishSecretRef: null }),
    }),
    error: undefined,
  },
  {
    name: 'a secret without a name',
    pv: modes(['ReadWriteOnce'], { csi: handle({ controllerPublishSecretRef: {} }) }),
    error: 'failed to load secret "/": resource namespace may not be empty',
  },
  {
    name: 'an in-tree volume without an id',
    pv: { spec: { accessModes: ['ReadWriteOnce'], awsElasticBlockStore: { volumeID: 'aws://' } } },
    error:
      'failed to translate in tree pv to CSI: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://)',
  },
  { name: 'a CSINode without drivers', node: { spec: {} }, error: NO_DRIVER },
  { name: 'a CSINode with null drivers', node: { spec: { drivers: null } }, error: NO_DRIVER },
  { name: 'a CSINode without a spec', node: { spec: null }, error: NO_DRIVER },
]

describe('bad objects', () => {
  it.each(ROWS)('a bad object is reported and blocks no other attach: $name', async ({ va, pv, node, error }) => {
    const scenario = await AttacherScenario.begin({ validates: false })
    await scenario.answerAtOnce()
    const metadata = { name: 'bad' }
    scenario.api.server.create(PERSISTENT_VOLUMES, { metadata, ...modes(['ReadWriteOnce']), ...pv })
    const drivers = [{ name: DRIVER, nodeID: 'n9-id' }]
    scenario.api.server.create(CSI_NODES, { metadata: { name: 'n9' }, ...{ spec: { drivers } }, ...node })
    const spec = { attacher: DRIVER, nodeName: 'n9', source: { persistentVolumeName: 'bad' } }
    scenario.api.server.create(VOLUME_ATTACHMENTS, { metadata: { name: 'bad.n9' }, ...{ spec }, ...va })
    await scenario.deliver()
    await scenario.create('own')
    await scenario.clock.advance(10_000)
    expect(scenario.statusOf('own')?.attached).toBe(true)
    expect(scenario.statusOf('bad', 'n9')?.attachError?.message).toBe(error)
    expect(scenario.statusOf('bad', 'n9')?.attached === true).toBe(error === undefined)
    const trouble = scenario.running.log.lines.filter(({ level }) => level === 'error')
    expect(trouble).toEqual([])
  })

  it('the attacher ignores an object without a name, and logs an error', async () => {
    const scenario = await AttacherScenario.begin({ validates: false })
    await scenario.answerAtOnce()
    scenario.api.server.create(VOLUME_ATTACHMENTS, { metadata: { name: null }, spec: { attacher: DRIVER } } as never)
    await scenario.deliver()
    await scenario.create('own')
    expect(scenario.statusOf('own')?.attached).toBe(true)
    expect(scenario.running.log.lines.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      'Ignoring an object that cannot be understood',
    ])
  })
})
