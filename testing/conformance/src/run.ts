import { Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps, Agent as SecureAgent } from 'node:https'
import { systemClock } from '@csi-sidecars/base'
import type { CaseAnswer, CaseStep, Cases, RecordedAnswer } from './case.ts'
import { normalised } from './compare.ts'

/** The API server that answers the cases. It knows two users: the administrator, and `alice` without permissions. */
export interface ComparedServer {
  readonly url: string
  readonly tokens: { readonly admin: string; readonly alice: string }
}

/** Sends the requests of all cases to a server, and returns its answers in order. */
export async function runConformance(server: ComparedServer, cases: Cases): Promise<readonly RecordedAnswer[]> {
  const answers: RecordedAnswer[] = []
  for (const [title, steps] of Object.entries(cases)) {
    const runner = new CaseRunner(server)
    for (const step of steps) {
      const answer = await runner.ask(step)
      answers.push({ title, asked: step.ask, answer: normalised(answer, step) })
    }
    await runner.clean()
  }
  return answers
}

const AGENT = new Agent({ keepAlive: true })
/** The API servers under test have self-signed certificates, so certificates are not checked. */
const SECURE_AGENT = new SecureAgent({ keepAlive: true, rejectUnauthorized: false })

const BODY_TYPES = {
  body: 'application/json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
} as const

const GRANT_TRIES = 50
const GRANT_PAUSE_MS = 100

/** Reports whether an answer denies permission: a 403, or an access review with a negative result. */
function isDenied({ code, body }: CaseAnswer): boolean {
  return code === 403 || Reflect.get(Object(Reflect.get(Object(body), 'status')), 'allowed') === false
}

class CaseRunner {
  readonly #server: ComparedServer
  readonly #kept = new Map<string, unknown>()
  readonly #created: string[] = []

  constructor(server: ComparedServer) {
    this.#server = server
  }

  async ask(step: CaseStep): Promise<CaseAnswer> {
    const [method = 'GET', path = '/'] = this.#filled(step.ask).split(' ')
    const question = { ...step, method, path, ...this.#bodyOf(step) }
    let answer = await send(this.#server, question)
    for (let tries = 0; step.granted && isDenied(answer) && tries < GRANT_TRIES; tries += 1) {
      await systemClock.sleep(GRANT_PAUSE_MS)
      answer = await send(this.#server, question)
    }
    if (step.answerName !== undefined) this.#kept.set(step.answerName, answer.body)
    const name: unknown = Reflect.get(Object(Reflect.get(Object(answer.body), 'metadata')), 'name')
    if (answer.code === 201 && method === 'POST' && typeof name === 'string') {
      this.#created.push(`${path.split('?')[0]}/${name}`)
    }
    if (answer.code === 201 && (method === 'PUT' || method === 'PATCH')) this.#created.push(String(path.split('?')[0]))
    return answer
  }

  /** Removes the objects that the case has created, newest first. */
  async clean(): Promise<void> {
    for (const path of this.#created.reverse()) {
      const finalizers = { text: '{"metadata":{"finalizers":null}}', contentType: BODY_TYPES.merge }
      await send(this.#server, { ask: '', method: 'PATCH', path, ...finalizers })
      await send(this.#server, { ask: '', method: 'DELETE', path: `${path}?gracePeriodSeconds=0` })
    }
  }

  #bodyOf(step: CaseStep): { text?: string; contentType?: string } {
    if (step.text !== undefined) return { text: step.text, contentType: step.type ?? BODY_TYPES.body }
    for (const kind of ['body', 'merge', 'strategic', 'json'] as const) {
      if (step[kind] === undefined) continue
      return { text: this.#filled(JSON.stringify(step[kind])), contentType: step.type ?? BODY_TYPES[kind] }
    }
    return step.type === undefined ? {} : { contentType: step.type }
  }

  #filled(text: string): string {
    return text.replace(/@(\w+)((?:\.\w+)+)/g, (match, name: string, path: string) => {
      let here = this.#kept.get(name)
      if (here === undefined) return match
      for (const key of path.slice(1).split('.')) here = Reflect.get(Object(here), key)
      return String(here)
    })
  }
}

interface CaseRequest extends CaseStep {
  readonly method: string
  readonly path: string
  readonly contentType?: string
}

function send(server: ComparedServer, question: CaseRequest): Promise<CaseAnswer> {
  const { method, path, text, contentType, accept = 'application/json', as, frames } = question
  const tokens = { ...server.tokens, wrongToken: 'a-wrong-token' }
  const headers: Record<string, string | number> = { accept }
  if (as !== 'anonymous') headers['authorization'] = `Bearer ${tokens[as ?? 'admin']}`
  if (contentType !== undefined) headers['content-type'] = contentType
  if (text !== undefined) headers['content-length'] = Buffer.byteLength(text)
  return new Promise((resolve, reject) => {
    const secure = server.url.startsWith('https:')
    const open = secure ? requestHttps : requestHttp
    const request = open(server.url + path, { method, headers, agent: secure ? SECURE_AGENT : AGENT })
    request.on('error', reject)
    request.on('response', (response) => {
      read(response, frames)
        .then(resolve, reject)
        // A watch does not end by itself, so its connection is closed.
        .finally(() => (frames === undefined ? undefined : request.destroy()))
    })
    request.end(text)
  })
}

async function read(response: IncomingMessage, frames: number | undefined): Promise<CaseAnswer> {
  let text = ''
  for await (const chunk of response) {
    text += String(chunk)
    if (frames !== undefined && text.split('\n').length > frames) break
  }
  const { statusCode: code = 0, headers } = response
  const warnings = headers['warning'] === undefined ? {} : { warnings: [String(headers['warning'])] }
  const type = headers['content-type'] ?? ''
  if (!type.startsWith('application/json')) return { code, body: text, ...warnings }
  if (frames === undefined || code !== 200) return { code, body: JSON.parse(text) as unknown, ...warnings }
  const lines = text.split('\n').slice(0, frames)
  return { code, body: lines.map((line) => JSON.parse(line) as unknown), ...warnings }
}
