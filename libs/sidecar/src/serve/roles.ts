import { type Backlog, runTerm } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { ClusterConfig, KubeClient } from '@csi-sidecars/kube-client'
import type { QueueMetrics } from '@csi-sidecars/workqueue'
import { leaseIdentity, leaseName, leaseNamespace } from '../lease/lease-name.ts'
import { OtherLeases } from '../lease/other-leases.ts'
import type { StartContext } from '../start/context.ts'
import { withSidecarName } from '../start/instance.ts'
import type { SelectedControllers, StartPlan } from '../start/plan.ts'
import { electorOf, kubeClient } from '../start/steps.ts'
import { restarting } from './restart.ts'
import { identified } from './runs.ts'
import type { Role } from './service.ts'

interface RoleParts {
  readonly config: ClusterConfig
  readonly driver: Driver
  readonly selected: readonly SelectedControllers[]
  readonly queues: QueueMetrics
  readonly backlog: Backlog
}

/** Each app has the Lease of its Go original, so that originals may run beside it; or all share a single one. */
export async function rolesOf(
  context: StartContext,
  { singleLease }: StartPlan,
  parts: RoleParts,
): Promise<readonly Role[]> {
  let made: KubeClient | undefined
  const client = (): KubeClient => {
    made ??= kubeClient(context, parts.config)
    return made
  }
  if (singleLease !== undefined && singleLease !== '')
    return [await roleOfAll(context, singleLease, { ...parts, client })]
  const several = parts.selected.length > 1
  return await Promise.all(
    parts.selected.map(async ({ instance, log, controllers }): Promise<Role> => {
      const { clock } = context
      const { driver, queues, backlog } = parts
      const name = leaseName(instance.lease.prefix, driver.name)
      const component = instance.lease.component(driver.name)
      const election = { client, standard: instance.standard, name, component, named: several, log }
      return {
        name: instance.name,
        elector: await electorOf(context, election).catch(withSidecarName(instance)),
        lead: (lead) =>
          runTerm(lead, identified(context, driver, controllers(lead)), { clock, driver, queues, backlog }),
      }
    }),
  )
}

async function roleOfAll(
  context: StartContext,
  name: string,
  parts: RoleParts & { readonly client: () => KubeClient },
): Promise<Role> {
  const { clock, log, standard, host } = context
  const { driver, selected, queues, backlog, client } = parts
  const elector = await electorOf(context, { client, standard, name, component: context.name, named: true, log })
  if (elector === undefined) throw new Error('a single lease without leader election')
  const { values } = standard
  const others = new OtherLeases({
    client: client(),
    namespace: await leaseNamespace({ flag: values['leader-election-namespace'], env: host.env }),
    names: selected.map(({ instance }) => leaseName(instance.lease.prefix, driver.name)),
    identity: leaseIdentity(host.hostName),
    periodMs: values['leader-election-retry-period'],
    leaseDurationMs: values['leader-election-lease-duration'],
    clock,
    log,
  })
  return {
    name: context.name,
    elector,
    eligible: (signal) => others.whenFree(signal),
    waits: others.waits,
    lead: async (lead) => {
      const { stop } = lead
      const terms = selected.map(({ instance, log: own, controllers }) => {
        const run = (): Promise<void> =>
          runTerm(lead, identified(context, driver, controllers(lead)), { clock, driver, queues, backlog })
        return restarting(run, { name: instance.name, clock, log: own, stop })
      })
      await Promise.all([...terms, others.watch(stop)])
    },
  }
}
