import type { CaseStep, Cases } from './case.ts'
import { attachment, claim, IN_DEFAULT, pod, STORAGE, volume } from './objects.ts'
import { merge, post, remove } from './steps.ts'

const OTHER_UID = '11111111-2222-3333-4444-555555555555'

const OBJECTS: readonly { readonly name: string; readonly place: string; readonly body: object }[] = [
  { name: 'VolumeAttachment', place: `${STORAGE}/volumeattachments`, body: attachment('uid-a') },
  { name: 'PersistentVolume', place: '/api/v1/persistentvolumes', body: volume('uid-a') },
  { name: 'PersistentVolumeClaim', place: `${IN_DEFAULT}/persistentvolumeclaims`, body: claim('uid-a') },
  { name: 'Pod', place: `${IN_DEFAULT}/pods`, body: pod('uid-a') },
]

/** Every kind of patch that carries a uid, to the object or to its status. */
function patches(path: string): readonly CaseStep[] {
  const ask = `PATCH ${path}`
  const annotations = { seen: 'yes' }
  const test = { op: 'test', path: '/metadata/uid', value: OTHER_UID }
  const add = { op: 'add', path: '/metadata/annotations', value: annotations }
  return [
    { ask, merge: { metadata: { uid: OTHER_UID, annotations } } },
    { ask, strategic: { metadata: { uid: OTHER_UID, annotations } } },
    { ask, json: [{ op: 'replace', path: '/metadata/uid', value: OTHER_UID }, add] },
    { ask, json: [{ op: 'add', path: '/metadata/uid', value: OTHER_UID }] },
    { ask, json: [test, add] },
    { ask, merge: { metadata: { uid: OTHER_UID } } },
    { ask, merge: { metadata: { uid: '' } } },
    { ask, merge: { metadata: { uid: null } } },
    { ask, merge: { metadata: { uid: 'not a uid' } } },
    { ask, strategic: { metadata: { uid: null } } },
    { ask, json: [{ op: 'remove', path: '/metadata/uid' }] },
    { ask, merge: { metadata: { uid: OTHER_UID, resourceVersion: '1' } } },
    { ask: `GET ${path}`, keep: 'now' },
    { ask, merge: { metadata: { uid: OTHER_UID, resourceVersion: '@now.metadata.resourceVersion' } } },
    { ask, merge: { metadata: { uid: OTHER_UID, finalizers: ['not qualified'] } } },
    { ask, merge: { metadata: { uid: '@made.metadata.uid', annotations } } },
    { ask, json: [{ ...test, value: '@made.metadata.uid' }, add] },
    { ask: `${ask}?dryRun=All`, merge: { metadata: { uid: OTHER_UID } } },
  ]
}

export const IDENTITY_CASES: Cases = Object.assign(
  {},
  ...OBJECTS.map(({ name, place, body }): Cases => {
    const made = post(place, body, { keep: 'made' })
    return {
      [`a patch for another ${name} of the same name`]: [made, ...patches(`${place}/uid-a`)],
      [`a patch of the status of another ${name} of the same name`]: [made, ...patches(`${place}/uid-a/status`)],
      [`a ${name} that is recreated while it is patched`]: [
        post(place, body, { keep: 'first' }),
        remove(`${place}/uid-a?gracePeriodSeconds=0`, { only: ['metadata.name'] }),
        merge(`${place}/uid-a`, { metadata: { uid: '@first.metadata.uid' } }),
        post(place, body),
        merge(`${place}/uid-a`, { metadata: { uid: '@first.metadata.uid', finalizers: ['a/b'] } }),
        merge(`${place}/uid-a/status`, { metadata: { uid: '@first.metadata.uid' }, status: {} }),
      ],
    }
  }),
)
