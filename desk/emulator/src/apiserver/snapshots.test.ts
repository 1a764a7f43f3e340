import {
  GROUP_SNAPSHOT_RESOURCES,
  VOLUME_SNAPSHOT_CONTENTS,
  type VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type ApiServer, startApiServer } from './server.ts'

const SNAPSHOT = '/apis/snapshot.storage.k8s.io/v1'
const GROUP = '/apis/groupsnapshot.storage.k8s.io/v1'
const CONTENTS = `${SNAPSHOT}/volumesnapshotcontents`
const GROUP_CONTENTS = `${GROUP}/volumegroupsnapshotcontents`

const CONTENT_SPEC = {
  driver: 'csi.example.com',
  deletionPolicy: 'Delete',
  source: { volumeHandle: 'vol-1' },
  volumeSnapshotRef: { namespace: 'default', name: 'snap' },
}
const GROUP_SPEC = {
  driver: 'csi.example.com',
  deletionPolicy: 'Delete',
  source: { volumeHandles: ['vol-1', 'vol-2'] },
  volumeGroupSnapshotRef: { namespace: 'default', name: 'group' },
}

let api: ApiServer
beforeEach(async () => {
  api = await startApiServer()
})
afterEach(() => api.stop())

interface Answer {
  readonly code: number
  readonly type: string | null
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
}

async function ask(
  method: string,
  path: string,
  { body, type = 'application/merge-patch+json', accept = 'application/json' }: Partial<Record<string, unknown>> = {},
): Promise<Answer> {
  const contentType = method === 'PATCH' ? String(type) : 'application/json'
  const headers = { accept: String(accept), 'content-type': contentType }
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(method === 'PATCH' ? body : { ...typeOf(path), ...body }) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type') === 'application/json'
  return {
    code: response.status,
    type: response.headers.get('content-type'),
    text,
    body: (isJson ? JSON.parse(text) : {}) as Answer['body'],
  }
}

/** Returns the `apiVersion` and the `kind` of an object by its path. */
function typeOf(path: string): object {
  const kind = path.startsWith(CONTENTS) ? 'VolumeSnapshotContent' : 'VolumeGroupSnapshotContent'
  return { apiVersion: path.split('/').slice(2, 4).join('/'), kind }
}

const createContent = (change: object = {}): Promise<Answer> =>
  ask('POST', CONTENTS, { body: { metadata: { name: 'c' }, spec: { ...CONTENT_SPEC, ...change } } })

describe('VolumeSnapshotContent', () => {
  it('a new VolumeSnapshotContent has no status, and its status subresource changes only the status', async () => {
    const { code } = await ask('POST', CONTENTS, {
      body: { metadata: { name: 'c' }, spec: CONTENT_SPEC, status: { readyToUse: true } },
    })
    expect(code).toBe(201)
    const patched = await ask('PATCH', `${CONTENTS}/c/status`, {
      body: { metadata: { labels: { a: 'b' } }, spec: { driver: 'other' }, status: { readyToUse: false } },
    })
    expect(patched.body).toMatchObject({ spec: { driver: 'csi.example.com' }, status: { readyToUse: false } })
    expect(patched.body['metadata']).not.toHaveProperty('labels')
    expect(patched.body['metadata']).toMatchObject({ generation: 1 })
  })

  it('a JSON patch may replace the missing status and annotations of a VolumeSnapshotContent', async () => {
    await createContent()
    const json = 'application/json-patch+json'
    const status = [{ op: 'replace', path: '/status', value: { snapshotHandle: 's', restoreSize: 5 } }]
    expect((await ask('PATCH', `${CONTENTS}/c/status`, { type: json, body: status })).code).toBe(200)
    const error = [{ op: 'replace', path: '/status/error', value: { message: 'm' } }]
    expect((await ask('PATCH', `${CONTENTS}/c/status`, { type: json, body: error })).code).toBe(200)
    const annotations = [{ op: 'replace', path: '/metadata/annotations', value: { 'a.b/c': 'yes' } }]
    expect((await ask('PATCH', `${CONTENTS}/c`, { type: json, body: annotations })).code).toBe(200)
    expect(api.get(VOLUME_SNAPSHOT_CONTENTS, { name: 'c' })).toMatchObject({
      metadata: { annotations: { 'a.b/c': 'yes' }, generation: 1 },
      status: { snapshotHandle: 's', restoreSize: 5, error: { message: 'm' } },
    })
  })

  it('the server refuses a strategic merge patch of a VolumeSnapshotContent', async () => {
    await createContent()
    const type = 'application/strategic-merge-patch+json'
    const { code, text } = await ask('PATCH', `${CONTENTS}/c`, { type, body: { metadata: { labels: { a: 'b' } } } })
    expect(code).toBe(415)
    expect(text).toContain('application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml')
  })

  it.each([
    [{ source: {} }, 'spec.source', 'exactly one of volumeHandle and snapshotHandle must be set'],
    [{ source: { volumeHandle: 'v', snapshotHandle: 's' } }, 'spec.source', 'exactly one of'],
    [{ source: undefined }, 'spec.source', 'Required value'],
    [{ driver: undefined }, 'spec.driver', 'Required value'],
    [{ deletionPolicy: 'Keep' }, 'spec.deletionPolicy', 'supported values: "Delete", "Retain"'],
    [{ volumeSnapshotRef: { name: 'x' } }, 'spec.volumeSnapshotRef', 'namespace must be set'],
  ])('the server refuses a VolumeSnapshotContent with the spec %j', async (change, field, message) => {
    const { code, body } = await createContent(change)
    expect(code).toBe(422)
    expect(body['message']).toContain(`VolumeSnapshotContent.snapshot.storage.k8s.io "c" is invalid`)
    expect(body['message']).toContain(field)
    expect(body['message']).toContain(message)
  })

  it.each([
    [{ source: { volumeHandle: 'vol-2' } }, 'volumeHandle is immutable'],
    [{ source: { volumeHandle: null, snapshotHandle: 's' } }, 'volumeHandle is required once set'],
    [{ sourceVolumeMode: 'Block' }, 'sourceVolumeMode is immutable'],
    [{ sourceVolumeMode: null }, 'sourceVolumeMode is required once set'],
  ])('the server refuses to change the spec of a VolumeSnapshotContent by %j', async (spec, message) => {
    await createContent({ sourceVolumeMode: 'Filesystem' })
    const { code, body } = await ask('PATCH', `${CONTENTS}/c`, { body: { spec } })
    expect(code).toBe(422)
    expect(body['message']).toContain(message)
  })

  it('a spec change raises the generation of a VolumeSnapshotContent, and its PUT needs a resourceVersion', async () => {
    await createContent()
    const changed = await ask('PATCH', `${CONTENTS}/c`, { body: { spec: { deletionPolicy: 'Retain' } } })
    expect(changed.body['metadata']).toMatchObject({ generation: 2 })
    const replaced = await ask('PUT', `${CONTENTS}/c`, { body: { metadata: { name: 'c' }, spec: CONTENT_SPEC } })
    expect(replaced.code).toBe(422)
    expect(replaced.body['message']).toContain('metadata.resourceVersion')
  })

  it('a client that prefers protobuf gets snapshot kinds as JSON, and lists state the kind of each item', async () => {
    await createContent()
    const accept = 'application/vnd.kubernetes.protobuf, application/json'
    const { body } = await ask('GET', CONTENTS, { accept })
    expect(body).toMatchObject({
      kind: 'VolumeSnapshotContentList',
      items: [{ kind: 'VolumeSnapshotContent', apiVersion: 'snapshot.storage.k8s.io/v1' }],
    })
    expect((await ask('GET', CONTENTS, { accept: 'application/vnd.kubernetes.protobuf' })).code).toBe(406)
  })

  it('a table of VolumeSnapshotContents has the printer columns of the CRD', async () => {
    await createContent()
    const { body } = await ask('GET', CONTENTS, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' })
    const columns = body['columnDefinitions'] as readonly { name: string }[]
    expect(columns.map(({ name }) => name).join(' ')).toBe(
      'Name ReadyToUse RestoreSize DeletionPolicy Driver VolumeSnapshotClass VolumeSnapshot VolumeSnapshotNamespace Age',
    )
    expect(body['rows']).toMatchObject([
      { cells: ['c', null, null, 'Delete', 'csi.example.com', null, 'snap', 'default', expect.any(String)] },
    ])
  })
})

describe('VolumeGroupSnapshotContent', () => {
  const createGroup = (): Promise<Answer> =>
    ask('POST', GROUP_CONTENTS, { body: { metadata: { name: 'g' }, spec: GROUP_SPEC } })

  it.each([
    [{ driver: 'other' }, 'driver is immutable once set'],
    [{ source: { volumeHandles: ['vol-1'] } }, 'volumeHandles is immutable'],
    [
      { volumeGroupSnapshotRef: { name: 'x' } },
      'volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace are immutable',
    ],
  ])('the server refuses to change the spec of a VolumeGroupSnapshotContent by %j', async (spec, message) => {
    await createGroup()
    const { code, body } = await ask('PATCH', `${GROUP_CONTENTS}/g`, { body: { spec } })
    expect(code).toBe(422)
    expect(body['message']).toContain(message)
  })

  it('a group snapshot handle can be set and removed, but not changed', async () => {
    await createGroup()
    const status = (value: string | null): Promise<Answer> =>
      ask('PATCH', `${GROUP_CONTENTS}/g/status`, { body: { status: { volumeGroupSnapshotHandle: value } } })
    expect((await status('h')).code).toBe(200)
    expect((await status('i')).code).toBe(422)
    expect((await status(null)).code).toBe(200)
    expect((await status('i')).code).toBe(200)
  })
})

describe('snapshot kinds', () => {
  it('the server answers 404 for the kinds in `absent`, and serves other snapshot kinds', async () => {
    await api.stop()
    api = await startApiServer({ absent: GROUP_SNAPSHOT_RESOURCES })
    const missing = await ask('GET', `${GROUP_CONTENTS}?limit=1`)
    expect(missing).toMatchObject({ code: 404, text: '404 page not found\n', type: 'text/plain; charset=utf-8' })
    expect((await ask('GET', '/apis')).text).not.toContain('groupsnapshot.storage')
    expect((await ask('GET', SNAPSHOT)).body['resources']).toContainEqual(
      expect.objectContaining({ name: 'volumesnapshots', namespaced: true, shortNames: ['vs'] }),
    )
    expect((await ask('GET', '/apis')).text).toContain('"snapshot.storage.k8s.io/v1"')
    expect((await ask('GET', CONTENTS)).code).toBe(200)
  })

  it('`create` stores a snapshot object with its status', () => {
    const content: VolumeSnapshotContent = {
      metadata: { name: 'ready' },
      spec: { ...CONTENT_SPEC, deletionPolicy: 'Retain' },
      status: { readyToUse: true, snapshotHandle: 's' },
    }
    expect(api.create(VOLUME_SNAPSHOT_CONTENTS, content)).toMatchObject({ ...content, metadata: { name: 'ready' } })
  })
})
