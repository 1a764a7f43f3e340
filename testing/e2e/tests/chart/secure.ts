import { deepStrictEqual as equal } from 'node:assert'
import { makeAuthority } from '@csi-sidecars/testkit'
import { helmPath } from '../../../../charts/tests/helm.ts'
import type { TestContext } from '../../harness/context.ts'
import { Scraper } from '../../harness/process/scraper.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { files } from '../secure/tls.ts'
import { createNamespace, installed, tokenOf } from './rendered.ts'

/** Replaces the folders of certificates in the rendered arguments by the folder of the test. */
function argsIn(t: TestContext, args: readonly string[]): readonly string[] {
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

  test('with examples/secure.yaml, only Prometheus can scrape the metrics, by its token', DRIVERLESS, async (t) => {
    const driver = await t.fullDriver()
    const monitoring = t.name('monitoring')
    await createNamespace(t, monitoring)
    for (const name of ['prometheus-k8s', 'other']) {
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }
      await t.api.call('POST', `/api/v1/namespaces/${monitoring}/serviceaccounts`, { body: account })
    }
    files(t, ca.server('endpoint'), ca.cert)
    const values = {
      authorization: { scrapers: [{ kind: 'ServiceAccount', name: 'prometheus-k8s', namespace: monitoring }] },
    }
    const args = (rendered: readonly string[]): readonly string[] => argsIn(t, rendered)
    const { metricsPort } = await installed(t, app, { example: 'secure', driver, values, args })
    const scraper = async (account: string): Promise<Scraper> =>
      new Scraper({ port: metricsPort, ca: ca.cert, token: await tokenOf(t.api, monitoring, account) })
    const probe = new Scraper({ port: metricsPort })
    await eventually('readiness', async () => (await probe.code('/readyz')) === 200)
    equal(await (await scraper('prometheus-k8s')).code('/metrics'), 200)
    equal(await (await scraper('other')).code('/metrics'), 403)
    equal(await probe.code('/metrics'), 401)
  })
}
