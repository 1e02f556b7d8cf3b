/**
 * A select for models and skills (R36): the first entry clears the choice and says what empty means. A menu over the flow,
 * upwards; typing filters where there are many entries.
 */
import { useEffect, useId, useRef, useState } from "preact/hooks";

import { composing } from "./ask";
import { Icon } from "./icons";

export interface Option { readonly value: string | null; readonly label: string; readonly note: string }

export interface SelectProps {
  readonly class?: string;
  /** The first one is the empty choice. */
  readonly options: readonly Option[];
  readonly value: string | null;
  /** Spoken name, the choice included. */
  readonly label: string;
  readonly searchLabel: string;
  readonly choose: (value: string | null) => void;
}

const MANY = 8;

export function Select({ options, value, label, searchLabel, choose, ...rest }: SelectProps) {
  const [open, setOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  // A model that is no longer configured is still what the session names.
  const current = options.find((option) => option.value === value) ?? { value, label: value ?? "", note: "" };
  const close = (): void => {
    setOpen(false);
    opener.current?.focus();
  };
  return (
    <div class={`hc-pick ${rest.class ?? ""}`}>
      <button
        ref={opener} type="button" class={value === null ? "hc-sel" : "hc-sel set"} aria-haspopup="listbox" aria-expanded={open}
        aria-label={label} title={label} onClick={() => { setOpen(!open); }}
      >
        <span class="hc-clip">{current.label}</span><Icon name="down" />
      </button>
      {open && (
        <Menu
          options={options} value={value} label={label} searchLabel={searchLabel} close={close} opener={opener.current}
          choose={(chosen) => { choose(chosen); close(); }}
        />
      )}
    </div>
  );
}

interface MenuProps extends SelectProps { readonly opener: HTMLElement | null; readonly close: () => void }

function Menu({ options, value, label, searchLabel, choose, close, opener }: MenuProps) {
  const id = useId();
  const root = useRef<HTMLDivElement>(null);
  const [words, setWords] = useState("");
  const [at, setAt] = useState(Math.max(0, options.findIndex((option) => option.value === value)));
  const shown = options.filter((option) => `${option.label} ${option.note}`.toLowerCase().includes(words.toLowerCase()));
  const searches = options.length > MANY;

  useEffect(() => {
    const menu = root.current;
    menu?.querySelector<HTMLElement>("input, [role=listbox]")?.focus();
    const outside = (event: Event): void => {
      const path = event.composedPath();
      if (menu && !path.includes(menu) && !(opener && path.includes(opener))) close();
    };
    document.addEventListener("pointerdown", outside, true);
    return () => { document.removeEventListener("pointerdown", outside, true); };
  }, []);
  useEffect(() => { root.current?.querySelector(".cur")?.scrollIntoView({ block: "nearest" }); }, [at]);

  const pressed = (event: KeyboardEvent): void => {
    if (composing(event)) return;
    const last = shown.length - 1;
    const moves: Record<string, number> = { ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last };
    const to = moves[event.key];
    const chosen = shown[at];
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key === "Enter" && chosen) choose(chosen.value);
    else if (to !== undefined && !(searches && (event.key === "Home" || event.key === "End"))) setAt(to);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const active = `${id}-${at}`;
  return (
    <div class="hc-menu" ref={root} onKeyDown={pressed}>
      {searches && (
        <div class="hc-search">
          <Icon name="search" />
          <input
            class="hc-grow" role="combobox" aria-expanded aria-controls={id} aria-activedescendant={active} aria-label={searchLabel}
            placeholder={searchLabel} value={words} onInput={(event) => { setWords(event.currentTarget.value); setAt(0); }}
          />
        </div>
      )}
      <div id={id} role="listbox" class="hc-options" aria-label={label} tabIndex={searches ? -1 : 0} aria-activedescendant={active}>
        {shown.map((option, i) => (
          <div
            key={option.value ?? ""} id={`${id}-${i}`} role="option" aria-selected={option.value === value}
            class={i === at ? "hc-mi cur" : "hc-mi"} onPointerMove={() => { setAt(i); }} onClick={() => { choose(option.value); }}
          >
            <span class="hc-clip hc-grow">{option.label}</span>
            <span class="ds hc-clip">{option.note}</span>
            {option.value === value ? <Icon name="check" /> : <span class="hc-i" />}
          </div>
        ))}
      </div>
    </div>
  );
}
