import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { load } from 'js-yaml'
import { APPS } from '../tools/flag-keys.ts'
import { CHART, exampleFile, render } from './helm.ts'
import { type AlertRule, type Manifest, named, ofKind } from './manifest.ts'
import { metricFamilies } from './metric-table.ts'
import { merged, readValues, type Values, validator } from './values.ts'
import { withHelm } from './with-helm.ts'

const read = (file: string): string => readFileSync(join(CHART, file), 'utf8')
const ALERTS = load(read('files/alerts.yaml')) as readonly AlertRule[]

/** Labels that Prometheus or its operator adds to scraped series. */
const OF_THE_TARGET = ['namespace', 'container', 'pod', 'le']
/** Keywords of PromQL. */
const PROMQL = /^(?:absent|sum|max|by|rate|changes|histogram_quantile|label_values)$/

/** Returns the names of metrics and of labels in a PromQL expression. */
function namesIn(expression: string): { readonly metrics: readonly string[]; readonly labels: readonly string[] } {
  const bare = expression.replace(/"[^"]*"/g, '""')
  const grouped = [...bare.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/))
  const matched = [...bare.matchAll(/(\w+)(?:=~|!=|=)""/g)].map(([, label = '']) => label)
  const withoutLabels = bare.replace(/\{[^}]*\}|by \([^)]*\)|\[[^\]]*\]/g, '')
  const metrics = [...withoutLabels.matchAll(/[a-z]\w+/g)].map(([name]) => name).filter((name) => !PROMQL.test(name))
  return { metrics, labels: [...grouped, ...matched].filter((label) => !OF_THE_TARGET.includes(label)) }
}

async function unknownNames(expression: string): Promise<readonly string[]> {
  const families = await metricFamilies()
  const { metrics, labels } = namesIn(expression)
  const found = metrics.map((name) => ({
    name,
    family: families.find(
      (family) => family.name === name.replace(family.type === 'histogram' ? /_(?:bucket|sum|count)$/ : /$^/, ''),
    ),
  }))
  const allLabels = found.flatMap(({ family }) => family?.labels ?? [])
  return [
    ...found.filter(({ family }) => family === undefined).map(({ name }) => name),
    ...labels.filter((label) => !allLabels.includes(label)),
  ]
}

describe('alerts', () => {
  it.each(ALERTS.map(({ alert, expr }) => [alert, expr]))(
    'alert %s queries only metrics and labels that a sidecar serves',
    async (_, expr) => {
      expect(namesIn(expr).metrics).not.toEqual([])
      expect(await unknownNames(expr)).toEqual([])
    },
  )

  it.each(ALERTS.map((rule) => [rule.alert, rule.expr]))(
    'every metric in alert %s is restricted to the pods of the release',
    (_, expr) => {
      expect(expr.match(/\{(?:OWN|EACH)[,}]/g)).toHaveLength(namesIn(expr).metrics.length)
    },
  )

  it('the alert about slow calls counts calls that exceeded their deadline', () => {
    const slow = ALERTS.find(({ alert }) => alert === 'CSISidecarCallsAreSlow')?.expr ?? ''
    expect(slow).toContain('grpc_status_code="DeadlineExceeded"')
    expect(ALERTS.filter(({ expr }) => expr.includes('csi_sidecar_operations_seconds_bucket'))).toEqual([])
  })

  it('no two alerts have the same name', () => {
    expect(new Set(ALERTS.map(({ alert }) => alert)).size).toBe(ALERTS.length)
  })
})

describe('the dashboard', () => {
  interface Panel {
    readonly type: string
    readonly title: string
    readonly targets?: readonly { readonly expr: string }[]
  }
  const { panels, templating } = JSON.parse(read('files/dashboard.json')) as {
    panels: readonly Panel[]
    templating: { list: readonly { readonly name: string; readonly query: string }[] }
  }
  it('the user of the dashboard can select the container of each sidecar', () => {
    const sidecar = templating.list.find(({ name }) => name === 'sidecar')
    expect(sidecar?.query.split(',')).toEqual([...APPS, 'sidecars'].map((app) => `csi-${app}`))
  })

  const graphs = panels.filter(({ type }) => type !== 'row')

  it.each(graphs.map(({ title, targets = [] }) => [title, targets.map(({ expr }) => expr)] as const))(
    'panel %s of the dashboard queries only metrics and labels that a sidecar serves',
    async (_, expressions) => {
      expect(expressions).not.toEqual([])
      for (const expression of expressions) expect(await unknownNames(expression)).toEqual([])
    },
  )
})

withHelm('rendered monitoring', () => {
  const objects = render({ files: [exampleFile('every-value')] })
  const definitions = JSON.parse(readFileSync(join(import.meta.dirname, 'schemas/monitoring.json'), 'utf8')) as Values

  it.each(['ServiceMonitor', 'PodMonitor', 'PrometheusRule'])(
    'the rendered %s matches the schema of the Prometheus operator',
    (kind) => {
      const validate = validator({ ...definitions, $ref: `#/definitions/${kind}` })
      const [object] = ofKind(objects, kind)
      expect(validate(object) || validate.errors).toBe(true)
    },
  )

  it('the chart renders a Service with the metrics port of each sidecar', () => {
    const ports = ofKind(objects, 'Service').map(({ metadata, spec }) => [
      metadata.name,
      spec?.ports?.map(({ name, port }) => `${name}:${port}`),
    ])
    expect(ports).toEqual([
      ['example-sidecars-attacher-metrics', ['metrics-attach:22012']],
      ['example-sidecars-resizer-metrics', ['metrics-resizer:22013']],
      ['example-sidecars-provisioner-metrics', ['metrics-create:22015']],
      ['example-sidecars-snapshotter-metrics', ['metrics-snap:22016']],
    ])
    const { metadata } = named(objects, 'Service', 'example-sidecars-attacher-metrics')
    expect(metadata.annotations).toMatchObject({
      'prometheus.io/scrape': 'true',
      'prometheus.io/port': '22012',
      'prometheus.io/path': '/all/metrics',
    })
  })

  it('the selector of the ServiceMonitor matches the labels of every metrics Service', () => {
    const selector = ofKind(objects, 'ServiceMonitor')[0]?.spec?.selector?.matchLabels
    for (const { metadata } of ofKind(objects, 'Service'))
      expect(metadata.labels).toMatchObject(selector ?? { no: 'selector' })
  })

  const rulesOf = (rendered: readonly Manifest[]): readonly AlertRule[] =>
    ofKind(rendered, 'PrometheusRule')[0]?.spec?.groups?.flatMap((group) => group.rules) ?? []

  it('the PrometheusRule has every enabled alert, restricted to the namespace of the release', () => {
    const rules = rulesOf(objects)
    expect(rules.map(({ alert }) => alert)).toEqual(
      ALERTS.map(({ alert }) => alert).filter((alert) => alert !== 'CSISidecarBacklog'),
    )
    for (const { expr } of rules) {
      expect(expr).toMatch(
        /\{namespace="storage",pod=~"[^"]+",container(?:=~"csi-\(attacher\|resizer\|provisioner\|snapshotter\|sidecars\)"|="csi-attacher")[,}]/,
      )
      expect(expr).not.toMatch(/OWN|EACH/)
    }
    for (const { alert, annotations } of rules) {
      expect(annotations['runbook_url']).toBe(`https://wiki.example.com/csi#${alert.toLowerCase()}`)
    }
  })

  /** Reports whether the alerts of a release select the pod with this name. Throws if the alerts differ. */
  const asksAbout = (rendered: readonly Manifest[], pod: string): boolean => {
    const patterns = rulesOf(rendered).flatMap(({ expr }) => [...expr.matchAll(/pod=~("[^"]+")/g)])
    const answers = new Set(patterns.map(([, text = '']) => new RegExp(`^(?:${JSON.parse(text)})$`).test(pod)))
    if (answers.size !== 1) throw new Error(`${patterns.length} alerts do not agree about ${pod}`)
    return answers.has(true)
  }
  /** Returns the pod names that Kubernetes would generate for each controller of the release. */
  const podsOf = (rendered: readonly Manifest[]): readonly string[] =>
    rendered.flatMap(({ kind, metadata: { name } }) => {
      if (kind === 'StatefulSet') return [`${name}-0`]
      if (kind === 'DaemonSet') return [`${name}-x2x9z`]
      // Kubernetes truncates the ReplicaSet's name in the name of a pod if the full name would be too long.
      return kind === 'Deployment' ? [`${`${name}-5d4f8c7b9f-`.slice(0, 58)}x2x9z`] : []
    })

  it.each([
    ['shared', 'monitored', {}],
    ['shared, under a long name', 'monitored', { fullnameOverride: 'a'.repeat(40) }],
    ['shared, under a name with a dot', 'monitored', { fullnameOverride: 'storage.v1' }],
    ['shared, as a StatefulSet', 'monitored', { controller: { kind: 'StatefulSet' } }],
    ['shared, as a DaemonSet', 'monitored', { controller: { kind: 'DaemonSet' } }],
    ['separate', 'separate', { metrics: { enabled: true, prometheusRule: { enabled: true } } }],
  ] as const)(
    'alerts match the pods of their release, and no pods of other releases in the namespace: mode %s',
    (...one) => {
      const [, example, values] = one
      const all = merged(readValues(exampleFile(example)), { ...values })
      const renderedExample = render({ values: all })
      expect(podsOf(renderedExample)).not.toEqual([])
      for (const pod of podsOf(renderedExample)) expect([pod, asksAbout(renderedExample, pod)]).toEqual([pod, true])
      const others = [
        render({ values: merged(all, { fullnameOverride: '' }), release: 'another' }),
        render({ values: merged(all, { fullnameOverride: 'demo-csi-sidecars-controller' }), release: 'another' }),
        render({ values: merged(all, { fullnameOverride: 'storagexv1' }), release: 'another' }),
      ]
      for (const other of others) {
        expect(podsOf(other)).not.toEqual([])
        for (const pod of podsOf(other)) expect([pod, asksAbout(renderedExample, pod)]).toEqual([pod, false])
      }
    },
  )

  it('ServiceMonitor and PodMonitor have the configured scrape interval and time-out', () => {
    const endpoint = (kind: string, field: string): unknown => {
      const [first] = (ofKind(objects, kind)[0]?.spec?.[field] ?? []) as readonly Values[]
      return [first?.['interval'], first?.['scrapeTimeout']]
    }
    expect(endpoint('ServiceMonitor', 'endpoints')).toEqual(['15s', '10s'])
    expect(endpoint('PodMonitor', 'podMetricsEndpoints')).toEqual(['1m', '20s'])
    const plain = JSON.stringify(ofKind(render({ files: [exampleFile('monitored')] }), 'ServiceMonitor'))
    expect(plain).not.toContain('scrapeTimeout')
  })

  it('the alert about missing sidecars checks each container separately', () => {
    const missing = (values: object): string | undefined =>
      rulesOf(render({ values: merged(readValues(exampleFile('monitored')), { ...values }) })).find(
        ({ alert }) => alert === 'CSISidecarIsNotThere',
      )?.expr
    const each = missing({}) ?? ''
    expect(each.match(/absent\(process_start_time_seconds\{.*?container="csi-\w+"\}\)/g)).toHaveLength(2)
    expect(each).toMatch(/container="csi-attacher"\}\) or absent.*container="csi-resizer"/)
    expect(missing({ process: 'one' })).toMatch(/^absent\((?!.*absent).*container="csi-sidecars"\}\)$/)
    expect(missing({ resizer: { enabled: false } })).toMatch(/^absent\((?!.*absent).*container="csi-attacher"\}\)$/)
  })

  it('the rendered ConfigMap contains the dashboard of the chart', () => {
    const { data } = named(objects, 'ConfigMap', 'example-sidecars-dashboard')
    expect(JSON.parse(data?.['csi-sidecars.json'] ?? '')).toEqual(JSON.parse(read('files/dashboard.json')))
  })

  it('the chart renders no object of monitoring by default', () => {
    const kinds = render({ files: [exampleFile('driver')] }).map(({ kind }) => kind)
    for (const kind of ['Service', 'ServiceMonitor', 'PodMonitor', 'PrometheusRule', 'ConfigMap', 'NetworkPolicy']) {
      expect(kinds).not.toContain(kind)
    }
  })
})
