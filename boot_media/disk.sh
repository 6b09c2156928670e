#!/usr/bin/env bash
# Choose the disk that this host is installed to. Runs on the live system before coreos-installer, which reads its
# device from the file that this writes. If no disk fits, say the hints and every candidate, and exit 1: the unit of
# coreos-installer requires this one, so it does not run then, and nothing is wiped. With the argument `ended`, it runs
# after coreos-installer: if that has failed, it sends what that said last.
# boot_media/disk.py names the sources of the rules, and puts in front of this text: `wanted`, the hints by name;
# `hints`, the same in words; `url`, to which the report goes, or nothing. Needs bash, coreutils, lsblk, udevadm, curl;
# journalctl, systemctl and systemd's SERVICE_RESULT after a failure.
# shellcheck disable=SC2154  # those three, and SERVICE_RESULT
set -euo pipefail
export LC_ALL=C # sizes and names are compared as bytes
NAMES=(deviceName minSizeGigabytes rotational model vendor serialNumber wwn wwnWithExtension wwnVendorExtension hctl)
FIELDS=MAJ:MIN,KNAME,TYPE,SIZE,ROTA,MODEL,VENDOR,SERIAL,WWN,HCTL
GIB=$((2 ** 30))
declare -A row=() udev=() is=()

# Set VARIABLE to TEXT without the spaces around it. USAGE: strip VARIABLE TEXT
strip() {
    local text=${2#"${2%%[![:space:]]*}"}
    printf -v "$1" %s "${text%"${text##*[![:space:]]}"}"
}

# Set `row` to what lsblk says of a device; it writes as \xHH what could end a value. USAGE: read_row LINE
read_row() {
    local rest=$1 name value
    row=()
    while [[ $rest =~ ^\ *([A-Z:_]+)=\"([^\"]*)\"(.*)$ ]]; do
        name=${BASH_REMATCH[1]} value=${BASH_REMATCH[2]} rest=${BASH_REMATCH[3]}
        printf -v value %b "$value"
        strip "row[$name]" "$value"
    done
}

# Set `udev` to the properties of the device. USAGE: read_udev
read_udev() {
    local line
    udev=()
    while IFS= read -r line; do
        case $line in ID_*=* | DM_*=*) udev[${line%%=*}]=${line#*=} ;; esac
    done < <(udevadm info --query=property --name="/dev/${row[KNAME]}")
}

# Whether an installation may take the device at all; if so, set `udev` and `is`. USAGE: is_candidate
is_candidate() {
    case ${row[KNAME]:-} in '' | fd* | ram* | zram*) return 1 ;; esac
    case ${row[TYPE]} in disk | mpath | *raid*) ;; *) return 1 ;; esac
    ((row[SIZE] > 0)) || return 1
    read_udev
    [[ ${udev[DM_MULTIPATH_DEVICE_PATH]:-} != 1 ]] || return 1
    read_disk
}

# Note a value of the disk by the name of its hint, once; a disk may have several of one name. USAGE: note NAME VALUE
note() {
    local value
    strip value "$2"
    [[ ! $value || $'\n'${is[$1]}$'\n' == *$'\n'"$value"$'\n'* ]] || is[$1]+=${is[$1]:+$'\n'}$value
}

# Note a property of udev: of a plain disk, or of one by the device mapper. USAGE: note_udev NAME PROPERTY
note_udev() { note "$1" "${udev[ID_$2]:-${udev[DM_$2]:-}}"; }

# Set `is` to what the disk has, by the names of the hints. USAGE: read_disk
read_disk() {
    local name rotational=false
    [[ ${row[ROTA]} != 1 ]] || rotational=true
    for name in "${NAMES[@]}"; do is[$name]=''; done
    note deviceName "/dev/${row[KNAME]}"
    note minSizeGigabytes $((row[SIZE] / GIB))
    note rotational $rotational
    note model "${row[MODEL]}"
    note vendor "${row[VENDOR]}"
    note serialNumber "${row[SERIAL]}"
    note_udev serialNumber SERIAL_SHORT
    note_udev serialNumber SERIAL
    note wwn "${row[WWN]}"
    note_udev wwn WWN
    note_udev wwnWithExtension WWN_WITH_EXTENSION
    note_udev wwnVendorExtension WWN_VENDOR_EXTENSION
    note hctl "${row[HCTL]}"
}

# Whether the disk has what the hint wants. USAGE: has NAME
has() {
    local want
    strip want "${wanted[$1],,}"
    [[ $want ]] || return 1
    case $1 in
        deviceName) [[ $want == "${is[$1],,}" || $(readlink -e -- "${wanted[$1]}") == "${is[$1]}" ]] ;;
        model | vendor) [[ ${is[$1],,} == *"$want"* ]] ;;
        minSizeGigabytes) ((${#want} < 12 && is[$1] >= want)) ;; # a number of more digits would overflow
        *) [[ $'\n'${is[$1],,}$'\n' == *$'\n'"$want"$'\n'* ]] ;;
    esac
}

# Whether the disk has what all hints want. USAGE: has_all
has_all() {
    local name
    for name in "${!wanted[@]}"; do has "$name" || return 1; done
}

# Set `text` to the disk, by the names of the hints. USAGE: describe
describe() {
    local name
    text=''
    for name in "${NAMES[@]}"; do [[ ! ${is[$name]} ]] || text+="${text:+, }$name: ${is[$name]//$'\n'/ or }"; done
}

# Take the disk. USAGE: choose
choose() { device=${is[deviceName]} chosen=$text; }

# Set `candidates` to a line per candidate; `device` and `chosen` to the one to install to, if any. USAGE: find_disk
find_disk() {
    local rows line text rank best=none
    candidates='' device='' chosen=''
    rows=$(lsblk --all --bytes --pairs --output "$FIELDS" | sort --field-separator='"' --key=2,2V --unique)
    while IFS= read -r line; do
        read_row "$line"
        is_candidate || continue
        describe
        candidates+=${candidates:+$';\n'}$text
        if ((${#wanted[@]})); then
            [[ $device ]] || ! has_all || choose
        elif ((row[SIZE] >= 4 * GIB)); then
            printf -v rank '%020d %s' "${row[SIZE]}" "${row[KNAME]}" # digits: before `none`
            [[ ${row[KNAME]} != sda ]] || rank=''                    # before all others
            [[ ! $rank < $best ]] || { best=$rank; choose; }
        fi
    done <<<"$rows"
}

# Send the report to the provisioner: for some minutes, since the network may come up late. USAGE: send REPORT
send() {
    [[ $url ]] || return 0
    for _ in {1..60}; do
        ! curl --silent --fail --noproxy '*' --max-time 10 --output /dev/null --data-binary "${1:0:16000}" "$url" || return 0
        sleep 5
    done
}

# Send the last lines that a unit has said, after words of its failure. USAGE: send_failure UNIT WORDS
send_failure() {
    local said
    journalctl --sync || true
    said=$(journalctl --boot --output cat --lines 50 "_SYSTEMD_UNIT=$1" | tail --bytes 15000) || true
    send "failed $2: $said"
}

# Say that this script has failed, unless it has refused. USAGE: trap 'end $?' EXIT
end() { [[ $1 == 0 || ${reason:-} ]] || send_failure "${0##*/}.service" 'no disk was chosen'; }

if [[ ${1:-} == ended ]]; then
    if [[ $SERVICE_RESULT != success ]]; then
        systemctl kill "${0##*/}.service" || true # the report of the disk may be under way, and would come after this one
        send_failure coreos-installer.service "$SERVICE_RESULT"
    fi
    exit 0
fi
trap 'end $?' EXIT
udevadm settle || true
for attempt in {1..10}; do # a controller may show its disks late: ironic waits for them as long
    find_disk
    [[ ! $device ]] || break
    ((attempt == 10)) || sleep 3
done
if [[ ! $device ]]; then
    reason="no disk fits $hints. Disks found:"$'\n'"${candidates:-none}"
    echo "okd-baremetal: refused: $reason"
    send "refused $reason"
    exit 1
fi
echo "dest-device: $device" >/etc/coreos/installer.d/9000-disk.yaml
echo "okd-baremetal: chosen by $hints: $chosen"
send "chosen $chosen" & # the installation does not wait for it
