import { SECRETS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { VolumeParts } from '../../harness/api/objects.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Capabilities } from '../../harness/driver/driver.ts'
import { answering, deleted, failure, killed, merged, OK, refusing, secretCreated } from '../../rows/actions.ts'
import {
  attach,
  attacherRows,
  attachmentCreated,
  detach,
  started,
  touched,
  volumeCreated,
  WITH_SECRET,
} from '../../rows/attacher/rows.ts'
import { finalizerOf, NODE_ID_ANNOTATION } from '../../rows/attacher/scene.ts'

const row = attacherRows('attach', import.meta.filename)

const PUBLISHED = { ControllerPublishVolume: [{ reply: { publishContext: { device: '/dev/x' } } }] }

row(
  'an attach patches the PV, patches the VolumeAttachment, publishes, and patches the status of the VolumeAttachment',
  { setup: { answers: PUBLISHED }, steps: [attach()] },
)
row('an empty publish context leaves no attachmentMetadata in the VolumeAttachment', { steps: [attach()] })

const FOREIGN = { metadata: { finalizers: ['example.com/b', 'example.com/a'] } }
row('an attach keeps the order of foreign finalizers and appends our finalizer', {
  steps: [attach({ pv: FOREIGN, va: FOREIGN })],
})

/** The metadata that an attach leaves. */
const marked = (t: TestContext, annotations: object = { [NODE_ID_ANNOTATION]: t.name('node-id') }) => ({
  metadata: { finalizers: [finalizerOf(t.driverName)], annotations },
})
row('an attach writes only the status if the PV and the VolumeAttachment already have our finalizer and annotation', {
  steps: [attach({ pv: (t) => marked(t, {}), va: marked })],
})
row('an attach corrects a wrong node ID in the annotation of the VolumeAttachment', {
  steps: [attach({ va: (t) => marked(t, { [NODE_ID_ANNOTATION]: 'wrong', other: 'kept' }) })],
})
row('a PV of another driver is published if the VolumeAttachment names our driver as its attacher', {
  steps: [attach({ pv: { csi: { driver: 'other.example.com' } } })],
})

const INLINE = (t: TestContext) => ({
  source: {
    inlineVolumeSpec: {
      accessModes: ['ReadWriteMany'],
      mountOptions: ['ro'],
      csi: { driver: t.driverName, volumeHandle: 'inline-1', fsType: 'xfs', volumeAttributes: { a: 'b' } },
    },
  },
})
row('an inline volume is published and unpublished without a write of any PV', {
  steps: [attachmentCreated({ va: INLINE }), detach],
})
row('the attacher ignores a VolumeAttachment of another attacher', {
  steps: [volumeCreated(), attachmentCreated({ va: { driver: 'other.example.com' } })],
})
row('a restarted attacher makes no driver call and no write for an attached VolumeAttachment', {
  steps: [attach(), killed, started],
})

interface RequestRow {
  readonly pv: VolumeParts
  readonly args?: readonly string[]
  readonly more?: Capabilities['controller']
}

const REQUESTS: Readonly<Record<string, RequestRow>> = {
  'file system type, mount options in order, and volume attributes': {
    pv: { mountOptions: ['z', 'a'], csi: { fsType: 'xfs', volumeAttributes: { k: 'v', l: 'w' } } },
  },
  '--default-fstype if the PV has no file system type': { pv: {}, args: ['--default-fstype=ext4'] },
  'the file system type of the PV rather than --default-fstype': {
    pv: { csi: { fsType: 'btrfs' } },
    args: ['--default-fstype=ext4'],
  },
  'a block volume without file system type and mount options': {
    pv: { volumeMode: 'Block', mountOptions: ['ro'], csi: { fsType: 'xfs' } },
    args: ['--default-fstype=ext4'],
  },
  'no `readonly` without PUBLISH_READONLY': { pv: { csi: { readOnly: true } } },
  '`readonly` with PUBLISH_READONLY': { pv: { csi: { readOnly: true } }, more: ['PUBLISH_READONLY'] },
  'no `readonly` for a read-only access mode': {
    pv: { accessModes: ['ReadOnlyMany'], mountOptions: ['ro'] },
    more: ['PUBLISH_READONLY'],
  },
}

for (const [label, { pv, args = [], more = [] }] of Object.entries(REQUESTS)) {
  row(`the publish request contains ${label}`, {
    setup: { args, controller: ['PUBLISH_UNPUBLISH_VOLUME', ...more] },
    steps: [attach({ pv })],
  })
}

const MODES = [
  ['ReadWriteMany'],
  ['ReadOnlyMany', 'ReadWriteMany'],
  ['ReadWriteOnce', 'ReadWriteMany'],
  ['ReadOnlyMany'],
  ['ReadWriteOnce'],
  ['ReadWriteOncePod'],
]
const WITH_MODES = MODES.map((accessModes, index) => attach({ pv: { accessModes }, suffix: `-${index}` }))
row('the publish request has an access mode without SINGLE_NODE_MULTI_WRITER', { steps: [...WITH_MODES] })
row('the publish request has an access mode with SINGLE_NODE_MULTI_WRITER', {
  setup: { controller: ['PUBLISH_UNPUBLISH_VOLUME', 'SINGLE_NODE_MULTI_WRITER'] },
  steps: [...WITH_MODES],
})

row('each publish reads the Secret again and sends all of its keys', {
  setup: { args: ['--retry-interval-start=1m'], answers: { ControllerPublishVolume: [failure(13)] } },
  steps: [
    secretCreated({ user: 'me', password: 'pässword\n' }),
    attach(WITH_SECRET),
    [
      merged(SECRETS, 'secret', { data: { user: Buffer.from('you').toString('base64') } }),
      answering({ ControllerPublishVolume: [OK] }),
      touched,
    ],
  ],
})
row('a publish with a Secret without data sends no secrets', { steps: [secretCreated({}), attach(WITH_SECRET)] })

const trivial = attacherRows('trivial handler', import.meta.filename)

for (const [label, controllerService, reason] of [
  ['without CONTROLLER_SERVICE', false, 'Plugin Controller Service'],
  ['without PUBLISH_UNPUBLISH_VOLUME', true, 'ControllerPublishUnpublish'],
] as const) {
  trivial(`one write marks the VolumeAttachment of a driver ${label} as attached`, {
    logs: [`CSI driver does not support ${reason}, using trivial handler`],
    setup: { controller: [], driver: { controllerService, controller: ['EXPAND_VOLUME'] } },
    steps: [secretCreated({ a: 'b' }), attach({ ...WITH_SECRET, node: 'nowhere' }), detach],
  })
}
trivial('the attacher of a driver without attach calls ignores a VolumeAttachment of another attacher', {
  setup: { controller: [] },
  steps: [attachmentCreated({ va: { driver: 'other.example.com' } })],
})
trivial('a deleted VolumeAttachment is still marked as attached if the driver has no attach calls', {
  setup: { controller: [], startsLater: true },
  steps: [
    attachmentCreated({ va: (t) => ({ metadata: { finalizers: [finalizerOf(t.driverName)] } }) }),
    deleted(VOLUME_ATTACHMENTS, 'va'),
    started,
  ],
})
trivial('a refused patch of the status of a VolumeAttachment is logged and retried with backoff', {
  logs: ['"Error saving VolumeAttachment as attached"'],
  setup: { controller: [], args: ['--retry-interval-start=300ms'] },
  steps: [[refusing('PATCH volumeattachments/status', ETCD_TIRED, { times: 2 }), attachmentCreated()]],
})
