import { type Controller, enqueueOn, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import type { Cached, Informer } from '@csi-sidecars/informer'
import { clientWhileLeading, type KubeClient } from '@csi-sidecars/kube-client'
import { CONFIG_MAPS, type ConfigMap } from '@csi-sidecars/kube-types'
import type { App, AppParts } from '../app.ts'
import type { GateTable } from '../flags/feature-gates.ts'
import type { Flag } from '../flags/go-flags.ts'

/** A small but complete sidecar for the tests of this package. It labels every ConfigMap. */

const FLAGS = [
  { name: 'label', type: 'string', default: 'seen', help: 'Label to set.' },
] as const satisfies readonly Flag[]

const GATES = {
  sidecarGates: { ReleaseLeaderElectionOnExit: { stage: 'beta', default: true } },
  permanent: {},
} as const satisfies GateTable

type TestSidecarParts = AppParts<typeof FLAGS, keyof (typeof GATES)['sidecarGates']>

export const testSidecar: App<typeof FLAGS, keyof (typeof GATES)['sidecarGates']> = {
  name: 'csi-test',
  prefix: 'test',
  replaces: 'external-test v1.0.0',
  flags: FLAGS,
  gates: GATES,
  lease: { prefix: 'external-test-', component: (driver) => `external-test-${driver}` },
  controllers: ({ flags, client, driver, caches, log }: TestSidecarParts) => {
    const configMaps = caches.open('ConfigMaps', { resource: CONFIG_MAPS, project: projection, resyncMs: 0 })
    return {
      queues: ['config-maps'],
      controllers: ({ assertLeading }) => {
        const api = clientWhileLeading(client, assertLeading)
        const deps = { api, configMaps, label: flags.values.label, driverName: driver.name }
        const controller: Controller = {
          name: 'config-maps',
          workers: 2,
          backoff: { baseMs: 100, maxMs: 1000 },
          caches: [configMaps],
          sources: [enqueueOn(configMaps, (event) => (event.type === 'added' ? [event.object.key] : []))],
          wakers: {},
          reconcile: (key, run) => reconcile(key, run, deps),
          onFailure: (key, cause) => log.error(cause, 'ConfigMap was not labelled', { configMap: key }),
          callsDriver: true,
          onStart: () => log.info('Starting test sidecar'),
        }
        return [controller]
      },
    }
  },
}

interface Seen extends Cached {
  readonly labelled: string | undefined
}

function projection({ metadata }: ConfigMap): Seen {
  const { namespace = '', name = '', uid = '', resourceVersion = '', labels } = metadata ?? {}
  return { key: `${namespace}/${name}`, uid, resourceVersion, labelled: labels?.['seen-by'] }
}

interface Deps {
  readonly api: KubeClient
  readonly configMaps: Informer<Seen, ConfigMap>
  readonly label: string
  readonly driverName: string
}

async function reconcile(key: string, { signal }: Run, { api, configMaps, label, driverName }: Deps): Promise<Outcome> {
  const configMap = configMaps.store.get(key)
  if (configMap === undefined || configMap.labelled !== undefined) return SETTLED
  const [namespace = '', name = ''] = key.split('/')
  const body = { metadata: { labels: { 'seen-by': driverName, [label]: 'true' } } }
  configMaps.storeAnswer(await api.patch(CONFIG_MAPS, { namespace, name }, { kind: 'merge', body }, { signal }))
  return SETTLED
}
