import { describe, expect, it } from '@jest/globals'
import { identityOf } from './identity.ts'
import { parseImage } from './image.ts'

const identity = (image: string, { name = 'c', program = undefined as string | undefined } = {}) =>
  identityOf({ name, image }, { program, args: [] }, 'ghcr.io/csi-sidecars')

describe('the parts of an image name', () => {
  it.each([
    [
      'registry.k8s.io/sig-storage/csi-attacher:v4.0.1',
      ['registry.k8s.io/sig-storage/csi-attacher', 'csi-attacher', 'v4.0.1', undefined],
    ],
    ['localhost:5000/csi-attacher', ['localhost:5000/csi-attacher', 'csi-attacher', undefined, undefined]],
    [
      'localhost:5000/a/csi-attacher:v1@sha256:abc',
      ['localhost:5000/a/csi-attacher', 'csi-attacher', 'v1', 'sha256:abc'],
    ],
    ['csi-attacher', ['csi-attacher', 'csi-attacher', undefined, undefined]],
    ['', ['', '', undefined, undefined]],
  ])('the image %s is split at its tag and digest', (text, [repository, baseName, tag, digest]) => {
    expect(parseImage(text)).toEqual({ repository, baseName, tag, digest })
  })
})

describe('the identity of a container', () => {
  it.each([
    ['registry.k8s.io/sig-storage/csi-attacher:v4.0.1', 'attacher', '4.0.1', undefined],
    ['k8s.gcr.io/sig-storage/csi-provisioner:v2.2.2', 'provisioner', '2.2.2', undefined],
    ['quay.io/k8scsi/csi-resizer:v1.0.0', 'resizer', '1.0.0', undefined],
    ['registry.k8s.io/sig-storage/livenessprobe:v2.15.0', 'livenessprobe', '2.15.0', undefined],
    ['registry.k8s.io/sig-storage/csi-snapshotter:v8.5.0-rc1', 'snapshotter', '8.5.0', undefined],
    ['registry.k8s.io/sig-storage/csi-attacher:canary', 'attacher', undefined, undefined],
    ['registry.k8s.io/sig-storage/csi-attacher@sha256:abc', 'attacher', undefined, undefined],
    [
      'public.ecr.aws/csi-components/csi-attacher:v4.12.0-eksbuild.5',
      'attacher',
      '4.12.0',
      'public.ecr.aws/csi-components',
    ],
    [
      'public.ecr.aws/eks-distro/kubernetes-csi/external-attacher:v4.6.1-eks-1-30-8',
      'attacher',
      '4.6.1',
      'public.ecr.aws/eks-distro/kubernetes-csi',
    ],
    ['longhornio/csi-provisioner:v5.3.0-20260428', 'provisioner', '5.3.0', 'longhornio'],
    ['rancher/mirrored-longhornio-csi-resizer:v1.11.1', 'resizer', '1.11.1', 'rancher'],
    ['gke.gcr.io/csi-attacher:v4.8.0-gke.3', 'attacher', '4.8.0', 'gke.gcr.io'],
    [
      'registry.redhat.io/openshift4/ose-csi-external-attacher-rhel9:v4.17',
      'attacher',
      undefined,
      'registry.redhat.io/openshift4',
    ],
    ['harbor.corp:8443/mirror/csi-snapshotter:v6.3.0', 'snapshotter', '6.3.0', 'harbor.corp:8443/mirror'],
  ])('the image %s is the %s of version %s', (image, sidecar, version, copiedTo) => {
    expect(identity(image)).toEqual({ kind: 'sidecar', sidecar, version, copiedTo })
  })

  it.each([
    ['registry-cn-hangzhou.ack.aliyuncs.com/acs/csi-provisioner:v3.5.0-e7da67e52-aliyun', /Alibaba/],
    ['longhornio/csi-resizer:v0.5.1-lh1', /suffix -lh1/],
  ])('the image %s counts as a fork', (image, why) => {
    expect(identity(image)).toMatchObject({ kind: 'fork', why: expect.stringMatching(why) })
  })

  it.each([
    ['registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.15.0', 'node-driver-registrar'],
    ['registry.k8s.io/sig-storage/snapshot-controller:v8.2.0', 'snapshot-controller'],
    ['registry.k8s.io/sig-storage/snapshot-validation-webhook:v6.0.0', 'snapshot-webhook'],
    ['registry.k8s.io/sig-storage/csi-external-health-monitor-controller:v0.14.0', 'health-monitor'],
    ['registry.k8s.io/sig-storage/csi-snapshot-metadata:v1.1.0', 'snapshot-metadata'],
    ['quay.io/csiaddons/k8s-sidecar:v0.12.0', 'csi-addons'],
  ])('the image %s is a Go program that stays', (image, program) => {
    expect(identity(image)).toEqual({ kind: 'remaining', program })
  })

  it('the image of a driver that contains the sidecars is recognized by the program that it starts', () => {
    const image = 'ghcr.io/topolvm/topolvm-with-sidecar:0.41.0'
    expect(identity(image, { program: '/csi-provisioner' })).toMatchObject({
      sidecar: 'provisioner',
      version: undefined,
    })
    expect(identity(image, { program: '/livenessprobe' })).toMatchObject({ sidecar: 'livenessprobe' })
    expect(identity(image, { program: '/topolvm-controller' })).toEqual({ kind: 'other' })
  })

  it.each([
    ['example.com/tools:v1', 'csi-attacher', { kind: 'unknown', looksLike: 'attacher' }],
    ['example.com/tools:v1', 'resizer', { kind: 'unknown', looksLike: 'resizer' }],
    ['example.com/driver:v1', 'driver', { kind: 'other' }],
    ['ghcr.io/csi-sidecars/csi-attacher:v0.1.0', 'csi-attacher', { kind: 'ours', program: 'csi-attacher' }],
    ['ghcr.io/csi-sidecars/csi-sidecars:v0.1.0', 'csi-sidecars', { kind: 'ours', program: 'csi-sidecars' }],
  ])('the image %s in container %s is %j', (image, name, expected) => {
    expect(identity(image, { name })).toEqual(expected)
  })
})
