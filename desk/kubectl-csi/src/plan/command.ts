import { ApiReader, NoSuchObjectError, type ReadOnlyClient } from '../facts/reader.ts'
import { jsonText, oneLine } from '../output/explanation.ts'
import { weightOf } from './finding.ts'
import { planJson } from './output/json.ts'
import { planText } from './output/text.ts'
import { type OurImages, planOf, type SwapPlan } from './plan.ts'
import { factsFromCluster, type WorkloadRef } from './reading/from-cluster.ts'
import { factsOfManifest, readManifest } from './reading/from-file.ts'
import { textOfWorkload } from './workload.ts'

/** The arguments of `plan`. */
export interface PlanQuestion {
  readonly ask: 'plan'
  /** The object. With a manifest it may be missing: every workload of the file gets a plan. */
  readonly workload: (Omit<WorkloadRef, 'namespace'> & { readonly namespace: string | undefined }) | undefined
  readonly namespace: string | undefined
  /** The manifest. Undefined: the object is read from the cluster. */
  readonly filename: string | undefined
  readonly driver: string | undefined
  readonly images: OurImages
}

/** The exit codes of `plan`. */
const PLAN_EXIT_CODES = {
  /** Nothing has to be done or checked before the swap. */
  ready: 0,
  /** The plan names something to do or to check. */
  attention: 1,
  /** There is no plan: the object does not exist, cannot be read or is no pod template. */
  noPlan: 2,
} as const

interface ClusterAccess {
  readonly client: ReadOnlyClient
  readonly namespace: string
  readonly signal: AbortSignal
  readonly write: (text: string) => void
}

/** Prints the plan for an object of the cluster. Throws NoSuchObjectError. */
export async function planFromCluster(question: PlanQuestion, json: boolean, access: ClusterAccess): Promise<number> {
  const { workload, driver, images } = question
  if (workload === undefined) throw new Error('plan: of which object? Give deployment/NAME')
  const ref = { ...workload, namespace: workload.namespace ?? access.namespace }
  const facts = await factsFromCluster(ref, new ApiReader(access.client, access.signal), driver)
  if (facts === undefined) throw new NoSuchObjectError(`${textOfWorkload(ref)} does not exist`)
  return print([planOf(facts, images)], [], { json, write: access.write })
}

interface Printing {
  readonly json: boolean
  readonly write: (text: string) => void
}

const DEFAULT_NAMESPACE = 'default'

/** Prints the plan for each workload of a manifest. Throws one line if the text is no manifest. */
export function planFromManifest(question: PlanQuestion, text: string, printing: Printing): number {
  const { workload, namespace = DEFAULT_NAMESPACE, driver, images } = question
  const objects = readManifest(text, namespace)
  const chosen = objects.workloads.filter(
    ({ kind, name }) => workload === undefined || (kind === workload.kind && name === workload.name),
  )
  if (chosen.length > 0) {
    return print(
      chosen.map((each) => planOf(factsOfManifest(each, objects, driver), images)),
      [],
      printing,
    )
  }
  const missing =
    workload === undefined ? [] : [{ what: `${workload.kind} ${workload.name}`, why: 'the file does not contain it' }]
  const others = objects.others.map((kind) => ({ what: kind, why: 'it is no pod template' }))
  const refused = [...missing, ...objects.refused, ...others]
  return print([], refused.length > 0 ? refused : [{ what: 'the file', why: 'it contains no object' }], printing)
}

type Refused = readonly { readonly what: string; readonly why: string }[]

function print(plans: readonly SwapPlan[], refused: Refused, { json, write }: Printing): number {
  if (json) write(jsonText({ plans: plans.map(planJson), refused }))
  else {
    write(plans.map(planText).join('\n'))
    for (const { what, why } of refused) write(`${oneLine(what)}: ${oneLine(why)}\n`)
  }
  if (plans.length === 0) return PLAN_EXIT_CODES.noPlan
  const needsAttention = plans.some(({ findings }) => findings.some((finding) => weightOf(finding) !== 'note'))
  return needsAttention ? PLAN_EXIT_CODES.attention : PLAN_EXIT_CODES.ready
}
