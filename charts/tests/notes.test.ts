import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { CHART, type Example, exampleFile, render } from './helm.ts'
import { named } from './manifest.ts'
import { merged, readValues } from './values.ts'
import { withHelm } from './with-helm.ts'

withHelm('installation notes', () => {
  let folder: string

  // `helm template` omits NOTES.txt, and `helm install` needs a cluster. So the test renders the notes in a ConfigMap.
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'notes-'))
    cpSync(CHART, folder, { recursive: true })
    const file = join(folder, 'templates/NOTES.txt')
    const object =
      '{{ dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" (dict "name" "notes") "data" (dict "text" (include "notes" .)) | toJson }}'
    writeFileSync(
      join(folder, 'templates/notes.yaml'),
      `{{- define "notes" -}}${readFileSync(file, 'utf8')}{{- end -}}\n${object}\n`,
    )
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  const notes = (example: Example, values: object = {}): string =>
    named(
      render({ chart: folder, values: merged(readValues(exampleFile(example)), { ...values }) }),
      'ConfigMap',
      'notes',
    ).data?.['text'] ?? ''

  it('the notes after an installation name each Deployment and the namespace of the Leases', () => {
    expect(notes('driver')).toContain('rollout status deployment/demo-csi-sidecars-controller')
    expect(notes('separate')).toContain('rollout status deployment/demo-csi-sidecars-resizer')
    expect(notes('driver', { leaderElection: { namespace: 'leases' } })).toContain('kubectl -n leases get lease')
  })

  it('the notes after an installation name helm test only if the release has roles', () => {
    expect(notes('driver')).toContain('helm test demo -n storage')
    expect(notes('driver', { rbac: { create: false } })).not.toContain('helm test')
  })

  it('the notes ask about leadership only if a sidecar elects a leader', () => {
    expect(notes('driver')).toContain('Does each sidecar lead, with its driver and all of its rights?')
    expect(notes('node-local')).toContain('Is each sidecar ready, with its driver and all of its rights?')
  })

  it('the notes warn of a low CPU limit, and need no resources of a sidecar', () => {
    const resizer = { resources: { limits: { cpu: '50m' } } }
    expect(notes('driver', { attacher: { resources: null }, resizer })).toContain('resizer.resources.limits.cpu is 50m')
  })

  it('the notes say that the sidecars may read no Secret if no value grants one', () => {
    expect(notes('driver')).toContain(
      'The sidecars may get no Secret. If a StorageClass or VolumeSnapshotClass of yours',
    )
    expect(notes('driver', { rbac: { secrets: true } })).not.toContain('Secret')
    expect(notes('driver', { rbac: { secretNames: [{ namespace: 'a', names: ['b'] }] } })).not.toContain('Secret')
  })

  it('the notes say that Leases and permissions are in the cluster of the kubeconfig, if one is set', () => {
    const text = notes('hosted-control-plane')
    expect(text).toContain('The lease is in the cluster of the kubeconfig')
    expect(text).toContain('kubectl --kubeconfig FILE -n kube-system get lease')
    expect(text).not.toContain('The sidecars may get no Secret')
    expect(text).toContain("The kubeconfig's user needs the rules in its own cluster")
    expect(notes('hosted-control-plane', { rbac: { create: true } })).toContain('the roles were made in this cluster')
  })

  it('the notes say that rbac.secrets and rbac.secretNames do nothing if the chart creates no roles', () => {
    const without = notes('driver', { rbac: { create: false, secretNames: [{ namespace: 'a', names: ['b'] }] } })
    expect(without).toContain('rbac.secrets and rbac.secretNames do nothing')
    expect(without).not.toContain('The sidecars may get no Secret')
    expect(without).not.toContain('kubeconfig')
  })
})
