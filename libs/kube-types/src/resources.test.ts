import { describe, expect, it } from '@jest/globals'
import {
  apiVersionOf,
  LEASES,
  NAMESPACES,
  type PathRef,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  RESOURCES,
  type Resource,
  referenceTo,
  resourcePath,
  VOLUME_ATTACHMENTS,
} from './resources.ts'

describe('resourcePath', () => {
  it.each<[path: string, resource: Resource<unknown>, ref: PathRef]>([
    ['/api/v1/persistentvolumes', PERSISTENT_VOLUMES, {}],
    ['/api/v1/persistentvolumes/pv1', PERSISTENT_VOLUMES, { name: 'pv1' }],
    ['/api/v1/persistentvolumes/pv1', PERSISTENT_VOLUMES, { name: 'pv1', namespace: 'ignored' }],
    ['/api/v1/namespaces/default', NAMESPACES, { name: 'default' }],
    ['/api/v1/persistentvolumeclaims', PERSISTENT_VOLUME_CLAIMS, {}],
    ['/api/v1/namespaces/ns/persistentvolumeclaims', PERSISTENT_VOLUME_CLAIMS, { namespace: 'ns' }],
    [
      '/api/v1/namespaces/ns/persistentvolumeclaims/data/status',
      PERSISTENT_VOLUME_CLAIMS,
      { namespace: 'ns', name: 'data', subresource: 'status' },
    ],
    [
      '/apis/storage.k8s.io/v1/volumeattachments/csi-0/status',
      VOLUME_ATTACHMENTS,
      { name: 'csi-0', subresource: 'status' },
    ],
    [
      '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/external-attacher-leader',
      LEASES,
      { namespace: 'kube-system', name: 'external-attacher-leader' },
    ],
    ['/api/v1/persistentvolumes/a%20%3Fb%23c', PERSISTENT_VOLUMES, { name: 'a ?b#c' }],
  ])('`resourcePath` returns the path %s', (path, resource, ref) => {
    expect(resourcePath(resource, ref)).toBe(path)
  })

  it.each<[ref: PathRef, message: string]>([
    [{ name: '' }, 'resource name may not be empty'],
    [{ name: 'x', namespace: '' }, 'resource namespace may not be empty'],
    [{ subresource: 'status' }, 'resource name may not be empty'],
    [{ name: '..' }, 'invalid resource name "..": [may not be \'..\']'],
    [{ name: 'a/b' }, 'invalid resource name "a/b": [may not contain \'/\']'],
    [{ name: 'a%2fb' }, 'invalid resource name "a%2fb": [may not contain \'%\']'],
  ])('`resourcePath` refuses %j, which would lead to another path', (ref, message) => {
    expect(() => resourcePath(PERSISTENT_VOLUME_CLAIMS, ref)).toThrow(new Error(message))
  })
})

describe('resources', () => {
  it('the table of API resources contains each resource once', () => {
    const names = RESOURCES.map((resource) => `${resource.plural}.${resource.group}`)
    expect(new Set(names).size).toBe(names.length)
  })

  it('`referenceTo` names the namespace, the name, the UID and the version of a cached object', () => {
    const seen = { uid: 'u', resourceVersion: '7' }
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'ns', name: 'data', ...seen }
    expect(referenceTo(PERSISTENT_VOLUME_CLAIMS, { key: 'ns/data', ...seen })).toEqual(claim)
    const volume = { apiVersion: 'v1', kind: 'PersistentVolume', name: 'pv', ...seen }
    expect(referenceTo(PERSISTENT_VOLUMES, { key: 'pv', ...seen })).toEqual(volume)
  })

  it('`apiVersionOf` returns the `apiVersion` of the objects of a resource', () => {
    expect(apiVersionOf(PERSISTENT_VOLUMES)).toBe('v1')
    expect(apiVersionOf(LEASES)).toBe('coordination.k8s.io/v1')
  })
})
