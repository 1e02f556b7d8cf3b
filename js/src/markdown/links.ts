/**
 * Where a link or an image of the model may lead (R63).
 *
 * The browser's own URL parser decides, so that no spelling of a scheme (control characters, entities, case) is seen differently here
 * than by a click. Allowed are http, https and mailto. What leads to this server is told apart, since a GET with the user's cookie may do
 * something (`/logout`), and a link that hides its host is labelled with it.
 */
export type Target =
  | { readonly kind: "blocked" }
  | { readonly kind: "mail"; readonly href: string }
  /** `hidden`: the source does not name the host (`//host/…`). */
  | { readonly kind: "remote"; readonly href: string; readonly host: string; readonly hidden: boolean }
  /** This server; `path` is what it would be asked for. */
  | { readonly kind: "here"; readonly href: string; readonly path: string };

export function target(href: string, base: string): Target {
  const url = URL.canParse(href, base) ? new URL(href, base) : null;
  if (url === null || href.trim().startsWith("#")) return { kind: "blocked" };
  if (url.protocol === "mailto:") return { kind: "mail", href: url.href };
  if (url.protocol !== "http:" && url.protocol !== "https:") return { kind: "blocked" };
  // A user name in front of the host only serves to make one host look like another.
  if (url.username !== "" || url.password !== "") return { kind: "blocked" };
  if (url.host === new URL(base).host) return { kind: "here", href: url.href, path: url.pathname + url.search };
  return { kind: "remote", href: url.href, host: url.host, hidden: !/^\s*https?:\/\//i.test(href) };
}
