import { isJsonObject } from '@csi-sidecars/kube-types'
import { expect, it } from '@jest/globals'
import { exampleFile, render } from './helm.ts'
import { at, merged, readValues, type Values } from './values.ts'
import { withHelm } from './with-helm.ts'

/** Returns the paths of strings in `one` that are not strings in `other`. */
function turned(one: unknown, other: unknown, path = ''): readonly string[] {
  if (typeof one === 'string') return typeof other === 'string' ? [] : [path]
  if (Array.isArray(one))
    return one.flatMap((each, index) => turned(each, (other as unknown[])[index], `${path}/${index}`))
  if (!isJsonObject(one)) return []
  return Object.entries(one).flatMap(([key, each]) => turned(each, (other as Values)[key], `${path}/${key}`))
}

withHelm('YAML-like names', () => {
  const NAMES = [
    'nameOverride',
    'fullnameOverride',
    'driver.name',
    'socketDir.volumeName',
    'serviceAccount.name',
    'leaderElection.namespace',
    'attacher.leaderElection.namespace',
    'controller.priorityClassName',
    'flowSchema.priorityLevel',
    'kubeconfigSecret.name',
    'tls.secretName',
    'tls.clientCA.configMapName',
    'tracing.headersSecret.name',
    'tracing.headersSecret.key',
  ]
  const on = {
    metrics: { enabled: true, serviceMonitor: { enabled: true }, prometheusRule: { enabled: true } },
    networkPolicy: { enabled: true },
    flowSchema: { enabled: true },
    csiDriver: { create: true },
    tracing: { enabled: true },
    tls: { enabled: true, certManager: { enabled: true, issuerRef: { name: 'ca' } } },
  }

  it.each(['1234', '1e3', 'true', 'null'])(
    'the name %s is rendered as a string in every field of the objects',
    (odd) => {
      const objectsOf = (name: string) => {
        const driver = { containers: [{ name: 'driver', image: 'd:v1', volumeMounts: [{ name, mountPath: '/csi' }] }] }
        const usual = merged(merged(readValues(exampleFile('driver')), on), { driver })
        const rbac = { rbac: { secretNames: [{ namespace: name, names: [name] }] } }
        const values = NAMES.reduce((all, path) => merged(all, at(path, name)), merged(usual, rbac))
        return render({ values, release: name, namespace: name })
      }
      const plain = objectsOf('plain')
      expect(turned(plain, objectsOf(odd))).toEqual([])
      // Without `fullnameOverride`, the names of objects contain the name of the release.
      const short = merged(readValues(exampleFile('driver')), on)
      const named = (release: string) => render({ values: short, release, namespace: release })
      expect(turned(named('plain'), named(odd))).toEqual([])
    },
  )
})
