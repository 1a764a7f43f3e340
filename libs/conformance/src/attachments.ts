import type { ConformanceCase, Step } from './case.ts'
import { attachment, STORAGE } from './objects.ts'

const ATTACHMENTS = `${STORAGE}/volumeattachments`

const made = (
  name: string,
  spec: Readonly<Record<string, unknown>> = {},
  rest: Readonly<Record<string, unknown>> = {},
): Step => ({
  ask: `POST ${ATTACHMENTS}`,
  body: attachment(name, spec, rest),
})
const status = (name: string, fields: object): Step => ({
  ask: `PATCH ${ATTACHMENTS}/${name}/status`,
  merge: { status: fields },
})
const inline = (spec: object): Readonly<Record<string, unknown>> => ({
  source: { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi: { driver: 'a.b', volumeHandle: 'h' }, ...spec } },
})

export const ATTACHMENT_CASES: readonly ConformanceCase[] = [
  {
    name: 'an attachment is created without its status',
    steps: [
      made('at-a', {}, { status: { attached: true, attachmentMetadata: { a: 'b' } } }),
      { ask: `GET ${ATTACHMENTS}/at-a` },
    ],
  },
  {
    name: 'names of attachers',
    steps: [
      made('at-a', { attacher: 'A.b' }),
      made('at-b', { attacher: 'a_b' }),
      made('at-b', { attacher: 'a'.repeat(63) }),
      made('at-c', { attacher: 'a'.repeat(64) }),
      made('at-c', { attacher: '' }),
    ],
  },
  {
    name: 'sources of attachments',
    steps: [
      made('at-a', { source: {} }),
      made('at-a', { source: { persistentVolumeName: '' } }),
      made('at-a', { source: { persistentVolumeName: 'A_B' } }),
      made('at-a', { source: { ...(inline({})['source'] as object), persistentVolumeName: 'pv' } }),
      made('at-a', inline({ capacity: { storage: '1Gi' } })),
      made('at-a', inline({ storageClassName: 'x' })),
      made('at-a', inline({ claimRef: { name: 'x' } })),
      made('at-a', inline({ volumeMode: 'Block' })),
      made('at-a', inline({ accessModes: [] })),
      made('at-a', inline({ csi: null })),
      made('at-a', { nodeName: '' }),
      made('at-a', { nodeName: 'A_B' }),
      made('at-a', inline({})),
    ],
  },
  {
    name: 'the spec of an attachment is fixed',
    steps: [
      made('at-a'),
      { ask: `PATCH ${ATTACHMENTS}/at-a`, merge: { spec: { nodeName: 'node-2' } } },
      { ask: `PATCH ${ATTACHMENTS}/at-a`, merge: { metadata: { labels: { a: 'b' } } } },
      { ask: `PUT ${ATTACHMENTS}/at-a`, body: attachment('at-a') },
    ],
  },
  {
    name: 'status and the rest of an attachment',
    steps: [
      made('at-a'),
      { ask: `PATCH ${ATTACHMENTS}/at-a`, merge: { status: { attached: true } } },
      {
        ask: `PATCH ${ATTACHMENTS}/at-a/status`,
        merge: { metadata: { finalizers: ['a/b'], annotations: { c: 'd' }, labels: { e: 'f' } } },
      },
      { ask: `PATCH ${ATTACHMENTS}/at-a/status`, merge: { spec: { nodeName: 'node-2' }, status: { attached: true } } },
      {
        ask: `PATCH ${ATTACHMENTS}/at-a`,
        merge: {
          metadata: { finalizers: ['external-attacher/x'], annotations: { 'csi.alpha.kubernetes.io/node-id': 'n' } },
        },
      },
      status('at-a', { attached: true, attachmentMetadata: { a: 'b' } }),
      status('at-a', { attachmentMetadata: { a: null, c: 'd' } }),
      status('at-a', { attached: false, attachmentMetadata: null }),
    ],
  },
  {
    name: 'errors of an attachment',
    steps: [
      made('at-a'),
      status('at-a', { attachError: { message: 'm', time: '2026-01-02T03:04:05Z', errorCode: 0 } }),
      status('at-a', { attachError: { errorCode: 2147483647 } }),
      status('at-a', { attachError: { errorCode: -1 } }),
      status('at-a', { detachError: { message: 'm', errorCode: 7 } }),
      status('at-a', { attachError: { message: 'x'.repeat(1024) } }),
      status('at-a', { attachError: { message: 'x'.repeat(1025) } }),
      status('at-a', { attachmentMetadata: { a: 'x'.repeat(262_143) } }),
      status('at-a', { attachmentMetadata: { a: 'x'.repeat(262_144) } }),
      status('at-a', { attachError: null, detachError: null, attachmentMetadata: null }),
    ],
  },
  {
    name: 'an attachment goes with its finalizer',
    steps: [
      { ask: `POST ${ATTACHMENTS}`, body: { ...attachment('at-a'), metadata: { name: 'at-a', finalizers: ['a/b'] } } },
      { ask: `DELETE ${ATTACHMENTS}/at-a` },
      { ask: `PATCH ${ATTACHMENTS}/at-a`, merge: { metadata: { finalizers: null } } },
      { ask: `PATCH ${ATTACHMENTS}/at-a/status`, merge: { status: { attached: false } } },
    ],
  },
]
