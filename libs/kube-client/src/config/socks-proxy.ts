import { Socket } from 'node:net'
import { messageOf } from '@csi-sidecars/base'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import type { OpenStream } from '../http/dial.ts'
import { NetworkError } from '../http/network-error.ts'

/** The part of KubeConfig's SOCKS agent that opens a stream. */
interface SocksAgent {
  connect(request: { emit(): void; destroy(): void }, target: object): Promise<unknown>
}

/** Streams through a SOCKS proxy, by the agent that client-node's KubeConfig makes for it. */
export async function throughSocksProxy(proxy: URL): Promise<OpenStream> {
  const config = new KubeConfig()
  config.loadFromClusterAndUser(
    { name: 'proxied', server: 'https://unused', skipTLSVerify: false, proxyUrl: proxy.href },
    { name: 'nobody' },
  )
  const options: { agent?: unknown } = {}
  await config.applyToHTTPSOptions(options)
  const { agent } = options
  if (!isSocksAgent(agent)) throw new Error(`no agent for proxy ${proxy.host}`)
  return async ({ host, port }, signal) => {
    const request = { emit: () => undefined, destroy: () => undefined }
    const opening = agent.connect(request, { host, port, secureEndpoint: false })
    const socket = await opening.catch((error: unknown) => {
      throw new NetworkError(`socks connect tcp ${proxy.host}: ${messageOf(error)}`, { cause: error })
    })
    if (!(socket instanceof Socket)) throw new NetworkError('socks connect: no socket')
    if (signal.aborted) {
      socket.destroy()
      throw signal.reason
    }
    return socket
  }
}

function isSocksAgent(agent: unknown): agent is SocksAgent {
  return typeof agent === 'object' && agent !== null && 'connect' in agent && typeof agent.connect === 'function'
}
