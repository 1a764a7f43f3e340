import type { OpenStream } from '../http/dial.ts'
import { bypassesProxy } from './no-proxy.ts'
import { parseProxy, throughProxy } from './proxy.ts'

/** The proxy that the environment wants for a server, by the rules of Go's programs; undefined for none. */
export function environmentProxy(origin: string, env: NodeJS.ProcessEnv): OpenStream | undefined {
  const url = new URL(origin)
  const secure = url.protocol === 'https:'
  const value = secure ? variable(env, 'HTTPS_PROXY') : variable(env, 'HTTP_PROXY')
  if (value === undefined) return undefined
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (bypassesProxy(host, port, variable(env, 'NO_PROXY') ?? '')) return undefined
  return throughProxy(parseProxy(value.includes('://') ? value : `http://${value}`))
}

/** Upper case first, as Go looks them up. */
function variable(env: NodeJS.ProcessEnv, name: string): string | undefined {
  return env[name] || env[name.toLowerCase()] || undefined
}
