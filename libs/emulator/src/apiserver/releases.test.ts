import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { afterEach, describe, expect, it } from '@jest/globals'
import { RELEASES, type Release } from './schema/releases.ts'
import { type ApiServer, startApiServer } from './server.ts'

let api: ApiServer | undefined
afterEach(() => api?.stop())

type Answer = { readonly code: number; readonly body: Readonly<Record<string, unknown>> }

async function ask(method: string, path: string, body?: object): Promise<Answer> {
  const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body), headers }
  const response = await fetch(`${api?.url}${path}`, init)
  return { code: response.status, body: (await response.json()) as Answer['body'] }
}

const CLASSES = '/apis/storage.k8s.io/v1/volumeattributesclasses'
const STREAMED = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1'
const OLD = RELEASES.filter((release) => release !== '1.36')

describe.each(OLD)('as Kubernetes %s', (release: Release) => {
  it('says its version', async () => {
    api = await startApiServer({ release })
    const { body } = await ask('GET', '/version')
    expect(body).toMatchObject({ minor: release.slice(2), gitVersion: expect.stringMatching(`^v${release}\\.`) })
    expect(body).not.toHaveProperty('emulationMinor')
  })

  it('has no VolumeAttributesClass, and does not list it', async () => {
    api = await startApiServer({ release })
    expect(await ask('GET', CLASSES)).toMatchObject({ code: 404, body: { reason: 'NotFound' } })
    const { body } = await ask('GET', '/apis/storage.k8s.io/v1')
    expect(JSON.stringify(body)).not.toContain('volumeattributesclasses')
    expect(JSON.stringify(body)).toContain('volumeattachments')
  })

  it('refuses to begin a watch with a list', async () => {
    api = await startApiServer({ release })
    const { code, body } = await ask('GET', `/api/v1/persistentvolumes?${STREAMED}`)
    expect(code).toBe(422)
    expect(body['message']).toContain(
      'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
    )
  })

  it('drops fields that came later, and keeps the rest', async () => {
    api = await startApiServer({ release })
    api.create(PERSISTENT_VOLUME_CLAIMS, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { namespace: 'default', name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } }, volumeName: 'pv' },
    })
    const claim = '/api/v1/namespaces/default/persistentvolumeclaims/data'
    const before = (await ask('GET', claim)).body['metadata']
    const marked = await ask('PATCH', `${claim}/status`, {
      status: {
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
      },
    })
    expect(marked.code).toBe(200)
    // Nothing is left of the change, so nothing is written.
    expect(marked.body['metadata']).toEqual(before)
    const resized = await ask('PATCH', `${claim}/status`, {
      status: { capacity: { storage: '2Gi' }, allocatedResources: { storage: '2Gi' } },
    })
    expect(resized.body['status']).toMatchObject({ capacity: { storage: '2Gi' } })
    expect(resized.body['status']).not.toHaveProperty('allocatedResources')
  })

  it('drops the code of an attach error, and keeps its message', async () => {
    api = await startApiServer({ release })
    api.create(VOLUME_ATTACHMENTS, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: 'va' },
      spec: { attacher: 'csi.example.com', nodeName: 'node', source: { persistentVolumeName: 'pv' } },
      status: { attached: false },
    })
    const error = { message: 'full', errorCode: 8, time: '2026-01-01T00:00:00Z' }
    const path = '/apis/storage.k8s.io/v1/volumeattachments/va/status'
    const { body } = await ask('PATCH', path, { status: { attachError: error } })
    expect(body['status']).toEqual({ attached: false, attachError: { message: 'full', time: error.time } })
  })
})

it.each([
  ['1.28', undefined],
  ['1.29', expect.any(String)],
] as const)('in %s a volume has the time of its phase: %s', async (release, time) => {
  api = await startApiServer({ release })
  const spec = {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    csi: { driver: 'csi.example.com', volumeHandle: 'handle' },
  }
  const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' }, spec }
  const { body } = await ask('POST', `/api/v1/${PERSISTENT_VOLUMES.plural}`, volume)
  expect((body['status'] as Record<string, unknown>)['lastPhaseTransitionTime']).toEqual(time)
})
