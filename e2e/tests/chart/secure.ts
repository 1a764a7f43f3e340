import { deepStrictEqual as equal } from 'node:assert'
import { join } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import { makeAuthority } from '@csi-sidecars/testkit'
import { exampleFile, helmPath } from '../../../charts/tests/helm.ts'
import { type Container, type Manifest, podSpecs, sidecar } from '../../../charts/tests/manifest.ts'
import type { TestContext } from '../../harness/context.ts'
import { Scraper } from '../../harness/process/scraper.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { files } from '../secure/scene.ts'
import { createAll, createNamespace, renderInto } from './rendered.ts'

/** A token for a service account, as Prometheus' pod and ours have one. */
async function tokenOf(t: TestContext, namespace: string, account: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  return (await t.api.call<{ status: { token: string } }>('POST', path, { body })).status.token
}

/** The rendered arguments, whose files are in the test's folder. */
function argsIn(t: TestContext, { args = [] }: Container): readonly string[] {
  return args.map((argument) =>
    argument.replace(/=\/etc\/csi-sidecars-(client-ca|tls)\//, (_, volume: string) => {
      return `=${t.folder}/${volume === 'tls' ? '' : 'client-'}`
    }),
  )
}

const ca = makeAuthority('ca')
const DRIVERLESS = { only: 'ours', target: 'real' } as const

for (const app of helmPath() === undefined ? [] : (['attacher', 'resizer'] as const)) {
  const test = testsOf(app, 'chart')

  test('examples/secure.yaml: Prometheus scrapes with its token, and no other client can', DRIVERLESS, async (t) => {
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
    const monitoring = t.name('monitoring')
    await createNamespace(t, monitoring)
    for (const name of ['prometheus-k8s', 'other']) {
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }
      await t.api.call('POST', `/api/v1/namespaces/${monitoring}/serviceaccounts`, { body: account })
    }
    const metricsPort = await freePort()
    const kubeconfig = join(t.folder, 'account.json')
    const objects: readonly Manifest[] = await renderInto(t, {
      files: [exampleFile('secure')],
      values: {
        fullnameOverride: t.name('chart'),
        driver: { name: t.driverName },
        socketDir: { mountPath: t.folder, fileName: driver.socket.slice(t.folder.length + 1) },
        [app === 'attacher' ? 'resizer' : 'attacher']: { enabled: false },
        [app]: {
          metricsPort,
          profilingPort: await freePort(),
          additionalArgs: [`--kubeconfig=${kubeconfig}`],
        },
        authorization: { scrapers: [{ kind: 'ServiceAccount', name: 'prometheus-k8s', namespace: monitoring }] },
      },
    })
    await createAll(t, objects)
    const namespace = t.name('storage')
    const token = await tokenOf(t, namespace, podSpecs(objects)[0]?.serviceAccountName ?? '')
    files(t, ca.server('endpoint'), ca.cert)
    const gate = await t.gate()
    const file = t.kubeconfig(gate.url, token)
    await t.sidecar({
      gate,
      user: { name: 'account', token },
      bareArgs: argsIn(t, sidecar(objects, app)).map((argument) => argument.replace(kubeconfig, file)),
      env: { POD_NAMESPACE: namespace },
    })
    const scraper = async (account: string): Promise<Scraper> =>
      new Scraper({ port: metricsPort, ca: ca.cert, token: await tokenOf(t, monitoring, account) })
    const probe = new Scraper({ port: metricsPort })
    await eventually('readiness', async () => (await probe.code('/readyz')) === 200)
    equal(await (await scraper('prometheus-k8s')).code('/metrics'), 200)
    equal(await (await scraper('other')).code('/metrics'), 403)
    equal(await probe.code('/metrics'), 401)
  })
}
