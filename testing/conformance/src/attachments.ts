import type { CaseStep, Cases } from './case.ts'
import { attachment, type BodyFields, STORAGE } from './objects.ts'
import { get, merge, post, put, remove } from './steps.ts'

const ATTACHMENTS = `${STORAGE}/volumeattachments`

const made = (name: string, spec: BodyFields = {}, rest: BodyFields = {}): CaseStep =>
  post(ATTACHMENTS, attachment(name, spec, rest))
const status = (name: string, fields: object): CaseStep => merge(`${ATTACHMENTS}/${name}/status`, { status: fields })
const inline = (spec: object): BodyFields => ({
  source: { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi: { driver: 'a.b', volumeHandle: 'h' }, ...spec } },
})

export const ATTACHMENT_CASES: Cases = {
  'an attachment is created without its status': [
    made('at-a', {}, { status: { attached: true, attachmentMetadata: { a: 'b' } } }),
    get(`${ATTACHMENTS}/at-a`),
  ],
  'names of attachers': [
    made('at-a', { attacher: 'A.b' }),
    made('at-b', { attacher: 'a_b' }),
    made('at-b', { attacher: 'a'.repeat(63) }),
    made('at-c', { attacher: 'a'.repeat(64) }),
    made('at-c', { attacher: '' }),
  ],
  'sources of attachments': [
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
  'the spec of an attachment is fixed': [
    made('at-a'),
    merge(`${ATTACHMENTS}/at-a`, { spec: { nodeName: 'node-2' } }),
    merge(`${ATTACHMENTS}/at-a`, { metadata: { labels: { a: 'b' } } }),
    put(`${ATTACHMENTS}/at-a`, attachment('at-a')),
  ],
  'status and the rest of an attachment': [
    made('at-a'),
    merge(`${ATTACHMENTS}/at-a`, { status: { attached: true } }),
    merge(`${ATTACHMENTS}/at-a/status`, {
      metadata: { finalizers: ['a/b'], annotations: { c: 'd' }, labels: { e: 'f' } },
    }),
    merge(`${ATTACHMENTS}/at-a/status`, { spec: { nodeName: 'node-2' }, status: { attached: true } }),
    merge(`${ATTACHMENTS}/at-a`, {
      metadata: { finalizers: ['external-attacher/x'], annotations: { 'csi.alpha.kubernetes.io/node-id': 'n' } },
    }),
    status('at-a', { attached: true, attachmentMetadata: { a: 'b' } }),
    status('at-a', { attachmentMetadata: { a: null, c: 'd' } }),
    status('at-a', { attached: false, attachmentMetadata: null }),
  ],
  'errors of an attachment': [
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
  'an attachment goes with its finalizer': [
    post(ATTACHMENTS, { ...attachment('at-a'), metadata: { name: 'at-a', finalizers: ['a/b'] } }),
    remove(`${ATTACHMENTS}/at-a`),
    merge(`${ATTACHMENTS}/at-a`, { metadata: { finalizers: null } }),
    merge(`${ATTACHMENTS}/at-a/status`, { status: { attached: false } }),
  ],
}
