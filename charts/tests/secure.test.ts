import type { PolicyRule } from '@csi-sidecars/kube-types'
import { APPS } from '@csi-sidecars/sidecars'
import { expect, it } from '@jest/globals'
import { exampleFile, render, tryRender } from './helm.ts'
import { type Manifest, named, ofKind, type PodSpec, podSpecs, sidecar } from './manifest.ts'
import { restrictedViolations } from './pod-security.ts'
import { merged, readValues } from './values.ts'
import { withHelm } from './with-helm.ts'

const REVIEWS: readonly PolicyRule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
]
const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'

type Endpoint = Readonly<Record<string, unknown>>

withHelm('metrics endpoint', () => {
  const objectsOf = (values: object): readonly Manifest[] =>
    render({ values: merged(readValues(exampleFile('driver')), { ...values }) })
  const pod = (objects: readonly Manifest[]) => podSpecs(objects)[0] as PodSpec
  const argsOf = (values: object): readonly string[] => sidecar(objectsOf(values), 'attacher').args ?? []
  const ofTls = (args: readonly string[]): readonly string[] => args.filter((each) => /--(?:tls|client-ca)/.test(each))
  const secure = render({ files: [exampleFile('secure')] })

  it.each(APPS)('the probes of the %s use HTTPS if TLS is enabled', (app) => {
    const { livenessProbe, readinessProbe } = sidecar(secure, app)
    expect([livenessProbe?.httpGet.scheme, readinessProbe?.httpGet.scheme]).toEqual(['HTTPS', 'HTTPS'])
  })

  it('without tls.enabled no probe, flag, volume or Certificate for TLS is rendered', () => {
    const objects = objectsOf({})
    for (const app of APPS) {
      const { livenessProbe, args = [], volumeMounts } = sidecar(objects, app)
      expect(livenessProbe?.httpGet).not.toHaveProperty('scheme')
      expect(args.filter((each) => /tls|authoriz|client-ca/.test(each))).toEqual([])
      expect(volumeMounts).toHaveLength(1)
    }
    expect(ofKind(objects, 'Certificate')).toEqual([])
  })

  it('a sidecar with TLS makes its own certificate if no Secret is set', () => {
    expect(ofTls(argsOf({ tls: { enabled: true } }))).toEqual(['--tls-self-signed=true'])
  })

  it.each([
    ['configMapName', { configMap: { name: 'authorities' } }],
    ['secretName', { secret: { secretName: 'authorities' } }],
  ])('each sidecar mounts the TLS Secret and the client authorities of clientCA.%s', (key, source) => {
    const objects = objectsOf({ tls: { enabled: true, secretName: 'endpoint', clientCA: { [key]: 'authorities' } } })
    expect(pod(objects).volumes.slice(1)).toEqual([
      { name: 'csi-sidecars-tls', secret: { secretName: 'endpoint' } },
      { name: 'csi-sidecars-client-ca', ...source },
    ])
    for (const app of APPS) {
      const { args = [], volumeMounts } = sidecar(objects, app)
      expect(ofTls(args)).toEqual([
        '--tls-cert-file=/etc/csi-sidecars-tls/tls.crt',
        '--tls-private-key-file=/etc/csi-sidecars-tls/tls.key',
        '--client-ca-file=/etc/csi-sidecars-client-ca/ca.crt',
      ])
      expect(volumeMounts?.slice(1)).toEqual([
        { name: 'csi-sidecars-tls', mountPath: '/etc/csi-sidecars-tls', readOnly: true },
        { name: 'csi-sidecars-client-ca', mountPath: '/etc/csi-sidecars-client-ca', readOnly: true },
      ])
    }
  })

  it('the Certificate for cert-manager has the names of the metrics Services, and the pods mount its Secret', () => {
    const { spec } = named(secure, 'Certificate', 'demo-csi-sidecars-tls')
    const services = ofKind(secure, 'Service').map(({ metadata }) => `${metadata.name}.storage.svc`)
    expect(spec).toMatchObject({
      secretName: 'demo-csi-sidecars-tls',
      issuerRef: { name: 'storage-ca', kind: 'ClusterIssuer' },
      dnsNames: services,
    })
    expect(pod(secure).volumes).toContainEqual({
      name: 'csi-sidecars-tls',
      secret: { secretName: 'demo-csi-sidecars-tls' },
    })
  })

  it('with authorization the sidecars may create token and access reviews, and the scrapers may read /metrics', () => {
    for (const app of APPS) {
      const { rules = [] } = named(secure, 'ClusterRole', `demo-csi-sidecars-external-${app}-role`)
      expect(rules.slice(-2)).toEqual(REVIEWS)
    }
    const reader = 'demo-csi-sidecars-metrics-reader'
    expect(named(secure, 'ClusterRole', reader).rules).toEqual([{ nonResourceURLs: ['/metrics'], verbs: ['get'] }])
    const { roleRef, subjects } = named(secure, 'ClusterRoleBinding', reader)
    expect([roleRef?.name, subjects]).toEqual([
      reader,
      [{ kind: 'ServiceAccount', name: 'prometheus-k8s', namespace: 'monitoring' }],
    ])
  })

  it('a pod with TLS passes the Pod Security level restricted', () => {
    expect(restrictedViolations(pod(secure))).toEqual([])
  })
})

withHelm('TLS monitors', () => {
  const MONITORED = merged(readValues(exampleFile('monitored')), { metrics: { podMonitor: { enabled: true } } })
  const objectsOf = (values: object): readonly Manifest[] => render({ values: merged(MONITORED, { ...values }) })
  const first = (objects: readonly Manifest[], kind: string, field: string): Endpoint => {
    const [endpoint] = (ofKind(objects, kind)[0]?.spec?.[field] ?? []) as readonly Endpoint[]
    return endpoint ?? {}
  }
  const service = (objects: readonly Manifest[]): Endpoint => first(objects, 'ServiceMonitor', 'endpoints')
  const pods = (objects: readonly Manifest[]): Endpoint => first(objects, 'PodMonitor', 'podMetricsEndpoints')

  it('monitors verify the certificate with the CA of the TLS Secret and the name of the Service', () => {
    const objects = objectsOf({ tls: { enabled: true, secretName: 'endpoint' } })
    const tlsConfig = {
      ca: { secret: { name: 'endpoint', key: 'ca.crt' } },
      serverName: 'demo-csi-sidecars-attacher-metrics.storage.svc',
    }
    expect(service(objects)).toMatchObject({ scheme: 'https', tlsConfig })
    expect(pods(objects)).toMatchObject({ scheme: 'https', tlsConfig })
  })

  it('a ServiceMonitor does not verify a self-signed certificate of a sidecar', () => {
    expect(service(objectsOf({ tls: { enabled: true } }))).toMatchObject({ tlsConfig: { insecureSkipVerify: true } })
  })

  it('a ServiceMonitor sends the token of Prometheus by default', () => {
    const secure = { tls: { enabled: true }, authorization: { enabled: true } }
    const secureObjects = objectsOf(secure)
    expect(service(secureObjects)).toMatchObject({ bearerTokenFile: TOKEN })
    // A PodMonitor sends no token by default, because it has no field `bearerTokenFile`.
    expect(pods(secureObjects)).not.toHaveProperty('bearerTokenFile')
    const authorization = { credentials: { name: 'scraper', key: 'token' } }
    const monitors = { serviceMonitor: { authorization }, podMonitor: { authorization } }
    const explicitObjects = objectsOf({ ...secure, metrics: monitors })
    for (const endpoint of [service(explicitObjects), pods(explicitObjects)]) {
      expect(endpoint).toMatchObject({ authorization })
      expect(endpoint).not.toHaveProperty('bearerTokenFile')
    }
  })

  it('the scrape annotations of the Services name the scheme https if TLS is enabled', () => {
    const objects = objectsOf({ tls: { enabled: true }, metrics: { annotations: true } })
    expect(ofKind(objects, 'Service')[0]?.metadata.annotations).toMatchObject({ 'prometheus.io/scheme': 'https' })
  })
})

withHelm('TLS checks', () => {
  it.each([
    [{ tls: { secretName: 'x' } }, 'tls.secretName needs tls.enabled.'],
    [{ tls: { clientCA: { configMapName: 'x' } } }, 'tls.clientCA.configMapName needs tls.enabled.'],
    [{ tls: { minVersion: 'VersionTLS13' } }, 'tls.minVersion needs tls.enabled.'],
    [{ authorization: { enabled: true } }, 'authorization.enabled needs tls.enabled'],
    [{ tls: { enabled: true, certManager: { enabled: true } } }, 'tls.certManager.enabled needs'],
    [{ tls: { enabled: true, clientCA: { configMapName: 'a', secretName: 'b' } } }, 'are both given'],
  ])('the chart refuses values of TLS that cannot work, with an explanation: case %#', (values, sentence) => {
    const rendered = tryRender({ values: merged(readValues(exampleFile('driver')), { ...values }) })
    expect(rendered.kind === 'failed' ? rendered.error : 'rendered').toContain(sentence)
  })
})
