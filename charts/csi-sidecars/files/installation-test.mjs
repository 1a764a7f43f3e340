// `helm test` runs this script. It checks that each sidecar of the release has a leader, a driver and its permissions.
// EXPECTED describes the release. Every check prints one line, and the exit code is 1 if a check fails.
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

const { ACCOUNT, EXPECTED, KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT } = process.env
const { workloads, leases, rights } = JSON.parse(EXPECTED)
const host = KUBERNETES_SERVICE_HOST.includes(':') ? `[${KUBERNETES_SERVICE_HOST}]` : KUBERNETES_SERVICE_HOST

/** The time limit for a rollout, and for the expiry of the Lease of a killed process. */
const LIMIT_MS = 60_000
const PAUSE_MS = 1000

async function call(path, body) {
  const response = await fetch(`https://${host}:${KUBERNETES_SERVICE_PORT}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${readFileSync(`${ACCOUNT}/token`, 'utf8').trim()}`,
      'content-type': 'application/json',
    },
    signal: AbortSignal.timeout(10_000),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return response.json()
}

/** A pod is ready when its probes say that the caches are filled and the driver answers. */
async function readyPods({ namespace, selector }) {
  const { items } = await call(`/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`)
  return items.filter(({ metadata, status }) => {
    const ready = status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True')
    return metadata.deletionTimestamp === undefined && ready === true
  })
}

async function checkWorkload(workload) {
  const pods = await readyPods(workload)
  return {
    ok: pods.length > 0,
    line: `ready pods of ${workload.name}: ${pods.length}`,
  }
}

/** Reports whether `holder` is the host name of the pod: its own name, or with `hostNetwork` the name of its node. */
function isHolder({ metadata, spec }, holder) {
  return spec.hostNetwork === true ? holder.startsWith(spec.nodeName) : holder === metadata.name
}

async function checkLease({ app, namespace, name, prefix, workload }) {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
  const { items } = await call(path)
  const pods = await readyPods(workload)
  const found = items.filter(({ metadata }) =>
    name === '' ? metadata.name.startsWith(prefix) : metadata.name === name,
  )
  const held = found.filter(({ spec }) => {
    const renewed = Date.parse(spec.renewTime ?? '') + spec.leaseDurationSeconds * 1000
    return renewed > Date.now() && pods.some((pod) => isHolder(pod, spec.holderIdentity ?? ''))
  })
  const names = held.map(({ metadata, spec }) => `${metadata.name}, held by ${spec.holderIdentity}`)
  const others = found.map(({ metadata, spec }) => `${metadata.name} has the holder "${spec.holderIdentity ?? ''}"`)
  const instead = others.length === 0 ? 'there is none' : others.join('; ')
  return {
    ok: held.length > 0,
    line:
      held.length > 0
        ? `lease of the ${app}: ${names.join('; ')}`
        : `lease of the ${app} in ${namespace}: no ready pod of this release holds it, ${instead}`,
  }
}

async function checkRight({ account, attributes }) {
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: account,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${account.split(':')[2]}`, 'system:authenticated'],
      resourceAttributes: attributes,
    },
  }
  const { status } = await call('/apis/authorization.k8s.io/v1/subjectaccessreviews', body)
  const { verb, resource, subresource, group, namespace, name } = attributes
  const what = [resource, subresource].filter(Boolean).join('/') + (group === '' ? '' : `.${group}`)
  const where = namespace === undefined ? '' : ` in ${namespace}`
  const may = status.allowed === true ? 'may' : 'may not'
  return { ok: status.allowed === true, line: `${account} ${may} ${verb} ${what}${name ? ` ${name}` : ''}${where}` }
}

/** Counts an error of a check, such as a failed request, as a failed check. */
async function attempt(check) {
  try {
    return await check()
  } catch (error) {
    return { ok: false, line: [error.message, error.cause?.message].filter(Boolean).join(': ') }
  }
}

/** Repeats a check until it succeeds or the time limit is over. */
async function eventually(check) {
  for (const end = Date.now() + LIMIT_MS; ; await setTimeout(PAUSE_MS)) {
    const result = await attempt(check)
    if (result.ok || Date.now() > end) return result
  }
}

const results = await Promise.all([
  ...rights.map((right) => attempt(() => checkRight(right))),
  ...workloads.map((workload) => eventually(() => checkWorkload(workload))),
  ...leases.map((lease) => eventually(() => checkLease(lease))),
])
const failed = results.filter(({ ok }) => !ok)
for (const { line } of results.filter(({ ok }) => ok)) process.stdout.write(`ok      ${line}\n`)
for (const { line } of failed) process.stdout.write(`FAILED  ${line}\n`)
process.exitCode = failed.length === 0 ? 0 : 1
